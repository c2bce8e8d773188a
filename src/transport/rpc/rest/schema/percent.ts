/**
 * Decodes a path segment, or the value of a variable within one segment: every escape, `%2F`
 * included (RFC 3986 2.1). A `+` is a plus sign. `undefined` if a `%` has no two hex digits or the
 * bytes are not UTF-8.
 */
export function decodeSingle(text: string): string | undefined {
  return text.includes('%') ? decode(text) : text
}

/**
 * Decodes the value of a variable that spans segments: everything except `%2F` and `%2f`, which
 * stay as received, so that the slashes left in the value are exactly the ones that separated
 * segments (google/api/http.proto). `undefined` if a `%` has no two hex digits or the bytes are not
 * UTF-8.
 */
export function decodeMulti(text: string): string | undefined {
  // Escaping the percent sign of an escaped slash makes one decoding give back the escape as it
  // was.
  return text.includes('%') ? decode(text.replaceAll(/%2([Ff])/g, '%252$1')) : text
}

/**
 * Decodes a name or value of a query string, where `+` is a space (WHATWG URL,
 * application/x-www-form-urlencoded). Unlike browsers, which repair, `undefined` if a `%` has no
 * two hex digits or the bytes are not UTF-8.
 */
export function decodeForm(text: string): string | undefined {
  return decodeSingle(text.includes('+') ? text.replaceAll('+', ' ') : text)
}

function decode(text: string): string | undefined {
  try {
    // ECMA-262 19.2.6.5 refuses overlong forms, surrogates and truncated sequences, as UTF-8 (RFC
    // 3629) demands.
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
