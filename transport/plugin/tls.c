/* The TLS plugin: see tls.h. The only file of VOCL that knows OpenSSL. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/provider.h>
#include <openssl/ssl.h>

#include "transport/plugin/tls.h"

#define FIRST_IN (20u << 10) /* bytes received at a time, until more arrive */
#define MOST_IN (256u << 10)
#define FULL (256u << 10)      /* bytes encrypted and not sent, with which no more are encrypted */
#define WORTH (128u << 10)     /* bytes that are sent without a flush() */
#define KEY_BYTES (1ull << 36) /* after so many bytes the key is renewed: the limit of AES-GCM is some 2^38 */

struct buffer {
    uint8_t *bytes;
    size_t at, end, capacity;
};

struct tls {
    SSL *ssl;
    int fd;
    bool accepts, direct; /* direct: OpenSSL uses the socket itself, so that the kernel can encrypt */
    bool bare;            /* after the handshake: data is not encrypted */
    bool dry, gone;       /* dry: the socket has nothing to read now; gone: the connection has ended */
    struct buffer in, out;
    uint64_t since_key;
    char identity[TLS_IDENTITY];
};

static OSSL_LIB_CTX *library; /* of its own, independent of the program's configuration */
static SSL_CTX *context;
static BIO_METHOD *method;
static uint8_t secret[SECRET_BYTES];
static void (*call_ending)(void *);
static void *ending_argument;
static bool ended, all_bare;

/* ---- between OpenSSL and the socket: many records at a time ---- */

/* Whether to try again later: the program may have closed a descriptor that it does not know, which the session
 * replaces (use()). */
static bool is_later(int error)
{
    return error == EAGAIN || error == EBADF || error == ENOTSOCK;
}

static int send_out(struct tls *tls)
{
    struct buffer *out = &tls->out;

    while (out->at < out->end) {
        ssize_t sent = send(tls->fd, out->bytes + out->at, out->end - out->at, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && is_later(errno))
            return 0;
        if (sent < 0) {
            tls->gone = true;
            return -ECONNRESET;
        }
        out->at += (size_t)sent;
    }
    out->at = out->end = 0;
    return 1;
}

static bool have_room(struct buffer *buffer, size_t more)
{
    size_t capacity = buffer->capacity ? buffer->capacity : 4096;
    uint8_t *bytes;

    if (buffer->at && buffer->end + more > buffer->capacity) {
        memmove(buffer->bytes, buffer->bytes + buffer->at, buffer->end - buffer->at);
        buffer->end -= buffer->at;
        buffer->at = 0;
    }
    while (capacity < buffer->end + more)
        capacity *= 2;
    if (capacity == buffer->capacity)
        return true;
    bytes = realloc(buffer->bytes, capacity);
    if (!bytes)
        return false;
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return true;
}

static int bio_write(BIO *bio, const char *bytes, size_t length, size_t *written)
{
    struct tls *tls = BIO_get_data(bio);

    if (!have_room(&tls->out, length))
        return 0;
    memcpy(tls->out.bytes + tls->out.end, bytes, length);
    tls->out.end += length;
    *written = length;
    return 1;
}

/* Receives more, and more at a time while data arrive faster than they are read. */
static bool fill_in(struct tls *tls)
{
    struct buffer *in = &tls->in;
    ssize_t got;

    if (!in->bytes || (in->end == in->capacity && in->capacity < MOST_IN)) {
        size_t capacity = in->bytes ? in->capacity * 4 : FIRST_IN;
        uint8_t *bytes = realloc(in->bytes, capacity < MOST_IN ? capacity : MOST_IN);

        if (bytes) {
            in->bytes = bytes;
            in->capacity = capacity < MOST_IN ? capacity : MOST_IN;
        }
    }
    in->at = in->end = 0;
    do
        got = in->bytes ? recv(tls->fd, in->bytes, in->capacity, MSG_DONTWAIT) : 0;
    while (got < 0 && errno == EINTR);
    if (got > 0)
        in->end = (size_t)got;
    else if (got < 0 && is_later(errno))
        tls->dry = true;
    else
        tls->gone = true;
    return got > 0;
}

static int bio_read(BIO *bio, char *bytes, size_t length, size_t *got)
{
    struct tls *tls = BIO_get_data(bio);
    struct buffer *in = &tls->in;

    BIO_clear_retry_flags(bio);
    if (in->at == in->end && !fill_in(tls)) {
        if (tls->dry)
            BIO_set_retry_read(bio);
        return 0;
    }
    *got = in->end - in->at < length ? in->end - in->at : length;
    memcpy(bytes, in->bytes + in->at, *got);
    in->at += *got;
    return 1;
}

static long bio_control(BIO *bio, int command, long number, void *pointer)
{
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH; /* flush() sends */
}

/* ---- keys ---- */

/* Letters, digits and colons only: no other character can change the meaning of what is authenticated. */
static bool is_identity(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (!(text[i] >= '0' && text[i] <= '9') && !(text[i] >= 'a' && text[i] <= 'z') && text[i] != ':')
            return false;
    }
    return length > 0 && length < TLS_IDENTITY;
}

static SSL_SESSION *make_session(SSL *ssl, const char *identity)
{
    static const unsigned char suite[] = {0x13, 0x02}; /* TLS_AES_256_GCM_SHA384 */
    const SSL_CIPHER *cipher = SSL_CIPHER_find(ssl, suite);
    SSL_SESSION *session = SSL_SESSION_new();
    unsigned char key[48];
    size_t length = 0;
    bool good = session && cipher &&
                EVP_Q_mac(library, "HMAC", NULL, "SHA384", NULL, secret, sizeof(secret),
                          (const unsigned char *)identity, strlen(identity), key, sizeof(key), &length) &&
                length == sizeof(key) && SSL_SESSION_set1_master_key(session, key, sizeof(key)) &&
                SSL_SESSION_set_cipher(session, cipher) && SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION);

    OPENSSL_cleanse(key, sizeof(key));
    if (good)
        return session;
    SSL_SESSION_free(session);
    return NULL;
}

static int on_connect(SSL *ssl, const EVP_MD *digest, const unsigned char **identity, size_t *length,
                      SSL_SESSION **session)
{
    const struct tls *tls = SSL_get_app_data(ssl);

    *session = NULL;
    if (digest && EVP_MD_get_size(digest) != 48) /* after a retry: the server chose another suite */
        return 0;
    *session = make_session(ssl, tls->identity);
    *identity = (const unsigned char *)tls->identity;
    *length = strlen(tls->identity);
    return *session != NULL;
}

static int on_accept(SSL *ssl, const unsigned char *identity, size_t length, SSL_SESSION **session)
{
    struct tls *tls = SSL_get_app_data(ssl);

    *session = NULL;
    if (!is_identity((const char *)identity, length))
        return 1; /* nobody has this identity */
    memcpy(tls->identity, identity, length);
    tls->identity[length] = '\0';
    *session = make_session(ssl, tls->identity);
    return *session != NULL;
}

/* ---- shared by all connections ---- */

/* Called first when OpenSSL is torn down, which may be before the program's other exit handlers. */
static void on_cleanup(void)
{
    if (call_ending && !ended)
        call_ending(ending_argument);
    ended = true;
}

static bool make_context(void)
{
    context = SSL_CTX_new_ex(library, NULL, TLS_method());
    if (!context)
        return false;
    SSL_CTX_set_options(context,
                        SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_ENABLE_KTLS);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_psk_use_session_callback(context, on_connect);
    SSL_CTX_set_psk_find_session_callback(context, on_accept);
    return SSL_CTX_set_num_tickets(context, 0) && SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) &&
           SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) &&
           SSL_CTX_set_ciphersuites(context, "TLS_AES_256_GCM_SHA384") &&
           SSL_CTX_set1_groups_list(context, "X25519:P-256");
}

static bool make_method(void)
{
    int type = BIO_get_new_index();

    method = type < 0 ? NULL : BIO_meth_new(type | BIO_TYPE_SOURCE_SINK, "vocl");
    return method && BIO_meth_set_write_ex(method, bio_write) && BIO_meth_set_read_ex(method, bio_read) &&
           BIO_meth_set_ctrl(method, bio_control);
}

static int plugin_init(const uint8_t *own_secret, bool bare, void (*ending)(void *), void *argument)
{
    all_bare = bare;
    memcpy(secret, own_secret, sizeof(secret));
    call_ending = ending;
    ending_argument = argument;
    if (context)
        return 0;
    /* the session decides the order at the end of the process; on_cleanup() is for a program with the same OpenSSL */
    if (!OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT | OPENSSL_INIT_NO_LOAD_CONFIG, NULL) ||
        !OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL))
        return -1;
    library = OSSL_LIB_CTX_new();
    if (!library || !OSSL_PROVIDER_load(library, "default") || !make_context() || !make_method())
        return -1;
    OPENSSL_atexit(on_cleanup);
    return 0;
}

/* ---- connections ---- */

static bool kernel_encrypts(void)
{
    char names[256];
    size_t length = 0;
    FILE *file = fopen("/proc/sys/net/ipv4/tcp_available_ulp", "re");

    if (file) {
        length = fread(names, 1, sizeof(names) - 1, file);
        fclose(file);
    }
    names[length] = '\0';
    for (char *save = NULL, *word = strtok_r(names, " \n", &save); word; word = strtok_r(NULL, " \n", &save)) {
        if (!strcmp(word, "tls"))
            return true;
    }
    return false;
}

static bool is_tcp(int fd)
{
    int domain = 0;
    socklen_t length = sizeof(domain);

    return !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) && (domain == AF_INET || domain == AF_INET6);
}

static void plugin_close(struct tls *tls)
{
    if (!tls)
        return;
    if (!ended)
        SSL_free(tls->ssl);
    free(tls->in.bytes);
    free(tls->out.bytes);
    free(tls);
}

static bool attach(struct tls *tls)
{
    BIO *bio;

    tls->direct = !all_bare && is_tcp(tls->fd) && kernel_encrypts();
    if (tls->direct)
        return SSL_set_fd(tls->ssl, tls->fd);
    bio = BIO_new(method);
    if (!bio)
        return false;
    BIO_set_data(bio, tls);
    BIO_set_init(bio, 1);
    SSL_set_bio(tls->ssl, bio, bio);
    return true;
}

static struct tls *plugin_open(int fd, const char *identity)
{
    struct tls *tls = calloc(1, sizeof(*tls));

    if (!tls || (identity && !is_identity(identity, strlen(identity)))) {
        free(tls);
        return NULL;
    }
    ERR_set_mark();
    tls->fd = fd;
    tls->accepts = !identity;
    if (identity)
        strcpy(tls->identity, identity);
    tls->ssl = SSL_new(context);
    if (tls->ssl && attach(tls)) {
        SSL_set_app_data(tls->ssl, tls);
        if (tls->accepts)
            SSL_set_accept_state(tls->ssl);
        else
            SSL_set_connect_state(tls->ssl);
        if (!tls->accepts) /* no certificate is accepted in place of the key: nobody has one */
            SSL_set_verify(tls->ssl, SSL_VERIFY_PEER, NULL);
    } else {
        plugin_close(tls);
        tls = NULL;
    }
    ERR_pop_to_mark(); /* the program may use the same OpenSSL, and inspect its error queue */
    return tls;
}

/* OpenSSL's own socket writes raise SIGPIPE, which must not end the program. */
struct hush {
    sigset_t old;
    bool pending, used;
};

static void hush_begin(struct hush *hush, const struct tls *tls)
{
    sigset_t set;

    hush->used = tls->direct;
    if (!hush->used)
        return;
    sigpending(&set);
    hush->pending = sigismember(&set, SIGPIPE);
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &set, &hush->old);
}

static void hush_end(const struct hush *hush)
{
    const struct timespec now = {0, 0};
    sigset_t set;

    if (!hush->used)
        return;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    if (!hush->pending)
        sigtimedwait(&set, NULL, &now);
    pthread_sigmask(SIG_SETMASK, &hush->old, NULL);
}

/* The meaning of a failed OpenSSL call. OpenSSL's error queue is not used, as it belongs to the program's thread. */
static int outcome(struct tls *tls)
{
    if (tls->direct) {
        if ((SSL_want_read(tls->ssl) && BIO_should_read(SSL_get_rbio(tls->ssl))) ||
            (SSL_want_write(tls->ssl) && BIO_should_write(SSL_get_wbio(tls->ssl))))
            return -EAGAIN;
    } else if (!tls->gone && tls->dry && SSL_want_read(tls->ssl)) {
        return -EAGAIN;
    }
    tls->gone = true;
    return -ECONNRESET;
}

static int plugin_shake(struct tls *tls)
{
    struct hush hush;
    int result, error;

    if (ended || tls->gone)
        return -ECONNRESET;
    ERR_set_mark();
    hush_begin(&hush, tls);
    tls->dry = false;
    result = SSL_do_handshake(tls->ssl);
    error = result == 1 ? 0 : outcome(tls);
    if (!error && (!SSL_session_reused(tls->ssl) || !*tls->identity)) /* the handshake did not use the key */
        error = -EPROTO;
    hush_end(&hush);
    ERR_pop_to_mark();
    if (send_out(tls) < 0 && !error)
        error = -ECONNRESET;
    if (!error && all_bare) {
        SSL_free(tls->ssl); /* it has read no further than it had to */
        tls->ssl = NULL;
        tls->bare = true;
    }
    return error;
}

static const char *plugin_identity(const struct tls *tls)
{
    return tls->identity;
}

static void plugin_use(struct tls *tls, int fd)
{
    if (fd == tls->fd)
        return;
    tls->fd = fd;
    if (tls->direct && !ended)
        BIO_set_fd(SSL_get_rbio(tls->ssl), fd, BIO_NOCLOSE);
}

static void renew_key(struct tls *tls, size_t bytes)
{
    tls->since_key += bytes;
    if (tls->since_key < KEY_BYTES || tls->direct)
        return;
    tls->since_key = 0;
    SSL_key_update(tls->ssl, SSL_KEY_UPDATE_NOT_REQUESTED);
}

/* The rest of the handshake is sent first. */
static ssize_t bare_write(struct tls *tls, const void *bytes, size_t length)
{
    ssize_t sent = send_out(tls);

    if (sent <= 0)
        return sent;
    do
        sent = send(tls->fd, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    if (sent >= 0 || is_later(errno))
        return sent < 0 ? 0 : sent;
    tls->gone = true;
    return -ECONNRESET;
}

static ssize_t bare_read(struct tls *tls, void *bytes, size_t length)
{
    struct buffer *in = &tls->in;
    ssize_t got = (ssize_t)(in->end - in->at < length ? in->end - in->at : length);

    if (got || !length) {
        memcpy(bytes, in->bytes + in->at, (size_t)got);
        in->at += (size_t)got;
        return got;
    }
    do
        got = recv(tls->fd, bytes, length, MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    return got > 0 ? got : got < 0 && is_later(errno) ? 0 : -ECONNRESET;
}

static ssize_t plugin_write(struct tls *tls, const void *bytes, size_t length)
{
    struct hush hush;
    size_t taken = 0;
    int error = 0;

    if (ended || tls->gone)
        return -ECONNRESET;
    if (tls->bare)
        return bare_write(tls, bytes, length);
    ERR_set_mark();
    hush_begin(&hush, tls);
    while (taken < length && !error) {
        size_t written = 0;

        if (tls->out.end - tls->out.at >= WORTH && send_out(tls) < 0)
            error = -ECONNRESET;
        if (error || tls->out.end - tls->out.at >= FULL)
            break;
        if (SSL_write_ex(tls->ssl, (const uint8_t *)bytes + taken, length - taken, &written))
            taken += written;
        else
            error = outcome(tls);
    }
    if (!error)
        renew_key(tls, taken);
    hush_end(&hush);
    ERR_pop_to_mark();
    return taken ? (ssize_t)taken : error == -EAGAIN ? 0 : error;
}

static int plugin_flush(struct tls *tls)
{
    return tls->gone ? -ECONNRESET : send_out(tls);
}

static ssize_t plugin_read(struct tls *tls, void *bytes, size_t length)
{
    struct hush hush;
    size_t got = 0;
    int error = 0;

    if (ended)
        return -ECONNRESET;
    if (tls->bare)
        return bare_read(tls, bytes, length);
    ERR_set_mark();
    hush_begin(&hush, tls);
    while (got < length && !error) {
        size_t more = 0;

        tls->dry = false;
        if (SSL_read_ex(tls->ssl, (uint8_t *)bytes + got, length - got, &more))
            got += more;
        else
            error = outcome(tls);
    }
    hush_end(&hush);
    ERR_pop_to_mark();
    return got ? (ssize_t)got : error == -EAGAIN ? 0 : error;
}

static bool plugin_waits(const struct tls *tls)
{
    return tls->out.at < tls->out.end || (tls->direct && !ended && SSL_want_write(tls->ssl));
}

static bool plugin_by_kernel(const struct tls *tls)
{
    return tls->direct && BIO_get_ktls_send(SSL_get_wbio(tls->ssl));
}

static bool plugin_digest(const void *bytes, size_t length, uint8_t hash[TLS_HASH])
{
    size_t made = 0;

    return !ended && EVP_Q_digest(library, "SHA256", NULL, bytes, length, hash, &made) && made == TLS_HASH;
}

/* Runs before the destructors of the libraries that this one depends on. */
__attribute__((destructor)) static void plugin_end(void)
{
    on_cleanup();
}

__attribute__((visibility("default"))) const struct tls_plugin vocl_tls_plugin = {
    .version = TLS_PLUGIN_VERSION,
    .init = plugin_init,
    .open = plugin_open,
    .shake = plugin_shake,
    .identity = plugin_identity,
    .use = plugin_use,
    .write = plugin_write,
    .flush = plugin_flush,
    .read = plugin_read,
    .waits = plugin_waits,
    .by_kernel = plugin_by_kernel,
    .digest = plugin_digest,
    .close = plugin_close,
};
