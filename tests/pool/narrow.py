"""narrow.py PAGE STATUS: serves the daemon's page with this status and a script that measures the layout: where the loads of
devices end, and how many lines a device takes. Prints its port."""
import http.server, json, sys

page, status = open(sys.argv[1]).read(), json.load(open(sys.argv[2]))
device = status["nodes"][0]["devices"][0]
for node in status["nodes"]:
    node["name"] += "-with-a-long-name.of-some.domain"
device["name"], device["load"] = "A device of a vendor's with a long name (TM) 12345", 1
status["nodes"][0]["devices"] = [dict(device, index=i) for i in range(3)]
measure = """<script>
setTimeout(() => {
    const rows = [...document.querySelectorAll("#devices tbody tr")].filter(row => row.querySelector(".load"));
    document.body.dataset.measured = JSON.stringify({
        width: innerWidth, rows: rows.length, right: Math.max(...rows.map(row => row.querySelector(".load b").getBoundingClientRect().right)),
        height: Math.max(...rows.map(row => row.getBoundingClientRect().height)), page: document.documentElement.scrollWidth,
        line: parseFloat(getComputedStyle(document.body).lineHeight)});
}, 2500);
</script></body>"""


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        text = json.dumps(status) if "status.json" in self.path else page.replace("</body>", measure)
        self.send_response(200)
        self.send_header("Content-Type", "application/json" if "status.json" in self.path else "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
