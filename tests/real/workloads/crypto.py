"""Everything that libcrypto computes from fixed input, one line each; run by the system's Python."""

import ctypes

L = ctypes.CDLL("libcrypto.so.3")
P = ctypes.c_void_p
DATA = bytes(i * 7 + (i >> 5) & 255 for i in range(3001))
KEY, VECTOR = bytes(range(1, 129)), bytes(range(64, 96))
EACH = ctypes.CFUNCTYPE(None, P, P)
MACS = [
    ("HMAC", b"SHA512", 128),
    ("CMAC", b"AES-256-CBC", 32),
    ("POLY1305", None, 32),
    ("SIPHASH", None, 16),
    ("KMAC-256", None, 32),
    ("BLAKE2BMAC", None, 32),
]
for function in (L.EVP_CIPHER_fetch, L.EVP_CIPHER_CTX_new, L.EVP_MD_fetch, L.EVP_MD_CTX_new, L.EVP_Q_mac):
    function.restype = P


def names(do_all, get0_name):
    """Names of all algorithms of a kind."""
    found = set()
    get0_name.restype, get0_name.argtypes = ctypes.c_char_p, [P]
    do_all.argtypes = [P, EACH, P]
    do_all(None, EACH(lambda item, _: found.add(get0_name(item))), None)
    return sorted(found)


def digest(name):
    method, state = P(L.EVP_MD_fetch(None, name, None)), P(L.EVP_MD_CTX_new())
    out, size = ctypes.create_string_buffer(64), ctypes.c_uint()
    done = [L.EVP_DigestInit_ex2(state, method, None)]
    for piece in (DATA[:1], DATA[1:200], DATA[200:]):
        done.append(L.EVP_DigestUpdate(state, piece, ctypes.c_size_t(len(piece))))
    done.append(L.EVP_DigestFinal_ex(state, out, ctypes.byref(size)))
    return done, out.raw[: size.value]


def cipher(name, encrypt, text):
    method, state = P(L.EVP_CIPHER_fetch(None, name, None)), P(L.EVP_CIPHER_CTX_new())
    out = ctypes.create_string_buffer(len(text) + 64)
    size, rest = ctypes.c_int(), ctypes.c_int()
    done = [
        L.EVP_CipherInit_ex2(state, method, KEY, VECTOR, encrypt, None),
        L.EVP_CipherUpdate(state, out, ctypes.byref(size), text, len(text)),
    ]
    done.append(L.EVP_CipherFinal_ex(state, ctypes.byref(out, max(size.value, 0)), ctypes.byref(rest)))
    return done, out.raw[: size.value + rest.value]


for name in names(L.EVP_MD_do_all_provided, L.EVP_MD_get0_name):
    done, value = digest(name)
    print(name, done, value.hex())
for name in names(L.EVP_CIPHER_do_all_provided, L.EVP_CIPHER_get0_name):
    if name == b"DES3-WRAP":  # draws a vector of its own
        continue
    short = any(word in name for word in (b"WRAP", b"SIV", b"CCM", b"CBC-HMAC"))
    text = DATA[:64] if short else DATA[:1600] if b"XTS" in name else DATA
    done, value = cipher(name, 1, text)
    undone, back = cipher(name, 0, value)
    print(name, done, value.hex(), undone, back == text)
for name, part, size in MACS:
    out, length = ctypes.create_string_buffer(128), ctypes.c_size_t()
    key, n, room = KEY[:size], ctypes.c_size_t(size), ctypes.c_size_t(128)
    L.EVP_Q_mac(
        None, name.encode(), None, part, None, key, n, DATA, ctypes.c_size_t(len(DATA)), out, room,
        ctypes.byref(length),
    )  # fmt: skip
    print(name, out.raw[: length.value].hex())
