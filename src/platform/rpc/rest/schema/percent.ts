/**
 * Decodes a path segment, or the value of a variable in one segment: every escape, including `%2F`
 * (RFC 3986 2.1). A `+` is a plus sign. Returns undefined if a `%` lacks two hex digits or the
 * bytes are not UTF-8.
 */
export function decodeSingle(text: string): string | undefined {
  return text.includes('%') ? decode(text) : text
}

/**
 * Decodes the value of a variable that spans segments: every escape except `%2F` and `%2f`. Slashes
 * in the value are therefore exactly those between segments (google/api/http.proto). Returns
 * undefined for text that `decodeSingle` rejects.
 */
export function decodeMulti(text: string): string | undefined {
  // An escaped slash gets an escaped percent sign, so that decoding returns it as it was.
  return text.includes('%') ? decode(text.replaceAll(/%2([Ff])/g, '%252$1')) : text
}

/**
 * Decodes a name or value of a query string, where `+` is a space (WHATWG URL,
 * application/x-www-form-urlencoded). Returns undefined for text that `decodeSingle` rejects, which
 * browsers would repair.
 */
export function decodeForm(text: string): string | undefined {
  return decodeSingle(text.includes('+') ? text.replaceAll('+', ' ') : text)
}

function decode(text: string): string | undefined {
  try {
    // ECMA-262 19.2.6.5 rejects overlong forms, surrogates and truncated sequences, as UTF-8
    // requires (RFC 3629).
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
