"""
The kubelet's side of its interface for device plugins, as far as a plugin can tell: it takes registrations, listens to
the list of devices, has containers started, and says which pods there are.

    kubelet.py serve FOLDER DESCRIPTORS   sockets are made in FOLDER; DESCRIPTORS is a FileDescriptorSet of the interface
    kubelet.py ask FOLDER WORD...         has that kubelet do something, and prints the answer; exits with 1 for errors:

        devices                     how many devices are healthy, and how many are not
        registrations               how many there were
        allocate POD CONTAINER N    the container gets N healthy devices that no pod has, or those of CONTAINER=ID,ID...
        start POD CONTAINER         it is started
        end POD                     the pod is over
        restart                     as the kubelet does: all sockets in its folder are removed, and its own is new
        raw METHOD HEX              the plugin gets these bytes in place of a message
"""
import json
import os
import socket
import sys
import threading

PLUGIN, LISTER, REGISTRY = "v1beta1.DevicePlugin", "v1.PodResourcesLister", "v1beta1.Registration"


def ask(folder, words):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(f"{folder}/control")
        client.sendall(json.dumps(words).encode() + b"\n")
        answer = json.loads(client.makefile().read())
    print(answer["text"])
    return 0 if answer["good"] else 1


class Messages:
    """The classes of all messages, by their full names."""

    def __init__(self, path):
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
        files = descriptor_pb2.FileDescriptorSet()
        with open(path, "rb") as file:
            files.ParseFromString(file.read())
        pool = descriptor_pool.DescriptorPool()
        for file in files.file:
            pool.Add(file)
        self.find = pool.FindMessageTypeByName
        if hasattr(message_factory, "GetMessageClass"):
            self.make = message_factory.GetMessageClass
        else:
            self.make = message_factory.MessageFactory(pool).GetPrototype

    def __getitem__(self, name):
        return self.make(self.find(name))


class Kubelet:
    def __init__(self, folder, messages):
        self.folder, self.messages = folder, messages
        self.lock = threading.Lock()
        self.pods = {}  # POD: {CONTAINER: [ID]}
        self.registrations, self.channel, self.devices = 0, None, {}
        self.start()

    # ---- its own services ----

    def handler(self, service, name, request, answer, call):
        method = grpc.unary_unary_rpc_method_handler(
            call, request_deserializer=self.messages[request].FromString,
            response_serializer=self.messages[answer].SerializeToString)
        return grpc.method_handlers_generic_handler(service, {name: method})

    def start(self):
        self.server = grpc.server(futures.ThreadPoolExecutor(4))
        self.server.add_generic_rpc_handlers((
            self.handler(REGISTRY, "Register", "v1beta1.RegisterRequest", "v1beta1.Empty", self.register),
            self.handler(LISTER, "List", "v1.ListPodResourcesRequest", "v1.ListPodResourcesResponse", self.list)))
        self.server.add_insecure_port(f"unix:{self.folder}/kubelet.sock")
        self.server.add_insecure_port(f"unix:{self.folder}/pods.sock")
        self.server.start()

    def restart(self):
        self.server.stop(None).wait()
        if self.channel:
            self.channel.close()
        self.channel, self.devices = None, {}
        for name in os.listdir(self.folder):
            if name.endswith(".sock"):
                os.unlink(f"{self.folder}/{name}")
        self.start()
        return "restarted"

    def register(self, request, context):
        if request.version != "v1beta1" or "/" in request.endpoint or not request.options.pre_start_required:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"not such a plugin: {request}")
        with self.lock:
            self.registrations += 1
            self.resource = request.resource_name
            self.channel = grpc.insecure_channel(f"unix:{self.folder}/{request.endpoint}")
            threading.Thread(target=self.watch, args=(self.channel,), daemon=True).start()
        return self.messages["v1beta1.Empty"]()

    def watch(self, channel):
        call = channel.unary_stream(f"/{PLUGIN}/ListAndWatch", self.messages["v1beta1.Empty"].SerializeToString,
                                    self.messages["v1beta1.ListAndWatchResponse"].FromString)
        try:
            for answer in call(self.messages["v1beta1.Empty"](), wait_for_ready=True):
                with self.lock:
                    self.devices = {device.ID: device.health for device in answer.devices}
        except grpc.RpcError:
            pass
        with self.lock:
            if self.channel is channel:
                self.devices = {}

    def list(self, request, context):
        answer = self.messages["v1.ListPodResourcesResponse"]()
        with self.lock:
            for pod, containers in self.pods.items():
                told = answer.pod_resources.add(name=pod, namespace="default")
                for container, ids in containers.items():
                    told.containers.add(name=container).devices.add(resource_name=self.resource, device_ids=ids)
        return answer

    # ---- its questions to the plugin ----

    def call(self, method, request, answer, *arguments, **members):
        call = self.channel.unary_unary(f"/{PLUGIN}/{method}", self.messages[request].SerializeToString,
                                        self.messages[answer].FromString)
        return call(self.messages[request](*arguments, **members), timeout=60)

    def choose(self, container, count):
        name, _, ids = container.partition("=")
        with self.lock:
            if ids:
                return name, ids.split(",")
            used = {one for containers in self.pods.values() for ids in containers.values() for one in ids}
            free = [one for one, health in self.devices.items() if health == "Healthy" and one not in used]
        if len(free) < count:
            raise ValueError(f"only {len(free)} devices are free")
        return name, free[:count]

    def allocate(self, pod, container, count):
        name, ids = self.choose(container, int(count))
        request = self.messages["v1beta1.AllocateRequest"]()
        request.container_requests.add(devices_ids=ids)
        answer = self.call("Allocate", "v1beta1.AllocateRequest", "v1beta1.AllocateResponse",
                           container_requests=request.container_requests)
        with self.lock:
            for other in [other for other in self.pods if other != pod]:  # whose pods are over, or do not use them
                for one, has in self.pods[other].items():
                    self.pods[other][one] = [id for id in has if id not in ids]
            self.pods.setdefault(pod, {})[name] = ids
        given = answer.container_responses[0]
        assert len(answer.container_responses) == 1 and not given.devices and all(mount.read_only for mount in given.mounts)
        return "\n".join([f"mount {mount.host_path} {mount.container_path}" for mount in given.mounts] +
                         [f"env {name}={value}" for name, value in sorted(given.envs.items())])

    def do(self, word, *rest):
        if word == "allocate":
            return self.allocate(*rest)
        if word == "start":
            self.call("PreStartContainer", "v1beta1.PreStartContainerRequest", "v1beta1.PreStartContainerResponse",
                      devices_ids=self.pods[rest[0]][rest[1]])
            return "started"
        if word == "raw":
            call = self.channel.unary_unary(f"/{PLUGIN}/{rest[0]}", lambda text: bytes.fromhex(text), bytes)
            return call(rest[1], timeout=60).hex()
        if word == "restart":
            return self.restart()
        with self.lock:
            if word == "end":
                del self.pods[rest[0]]
                return "over"
            if word == "devices":
                healthy = sum(health == "Healthy" for health in self.devices.values())
                return f"{healthy} {len(self.devices) - healthy}"
            if word == "registrations":
                return str(self.registrations)
        raise ValueError(f"no such word: {word}")

    def serve(self):
        with socket.socket(socket.AF_UNIX) as control:
            control.bind(f"{self.folder}/control.new")
            control.listen()
            os.rename(f"{self.folder}/control.new", f"{self.folder}/control")
            while True:
                client = control.accept()[0]
                with client:
                    words = json.loads(client.makefile().readline())
                    try:
                        answer = {"good": True, "text": self.do(*words)}
                    except grpc.RpcError as error:
                        answer = {"good": False, "text": f"{error.code().name}: {error.details()}"}
                    except (ValueError, KeyError, AssertionError) as error:
                        answer = {"good": False, "text": repr(error)}
                    client.sendall(json.dumps(answer).encode())


if sys.argv[1] == "ask":
    sys.exit(ask(sys.argv[2], sys.argv[3:]))
import grpc
from concurrent import futures
Kubelet(sys.argv[2], Messages(sys.argv[3])).serve()
