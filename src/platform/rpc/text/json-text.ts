import type { JsonObject, JsonValue } from '@bufbuild/protobuf'
import { FieldError } from './field-error.ts'
import { MAX_NESTING } from './message-fields.ts'

// Keeps a byte order mark, which JSON.parse then rejects (RFC 8259 section 8.1).
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Parses one JSON value in UTF-8. Like the parsers of protobuf, it accepts I-JSON only (RFC 7493):
 * no duplicate member names in an object, no unpaired surrogates, and no number beyond the range of
 * a double. Throws FieldError without a field for any other text, and for nesting deeper than
 * `MAX_NESTING`.
 */
export function parseJson(bytes: Uint8Array): JsonValue {
  const text = decode(bytes)
  const memberCount = scan(text)
  const value = parse(text)
  // JSON.parse keeps the last of several members with one name. The value then has fewer members
  // than the text has colons.
  if (check(value, text.includes('\\u')) !== memberCount)
    throw new FieldError('', 'JSON with a member name used twice')
  return value
}

/** Returns whether a JSON value is an object and not an array. */
export function isJsonObjectValue(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw new FieldError('', 'the body is not UTF-8')
  }
}

function parse(text: string): JsonValue {
  try {
    return JSON.parse(text)
  } catch {
    // The error of JSON.parse quotes the body, which must not appear in the log.
    throw new FieldError('', 'the body is not one JSON value')
  }
}

/**
 * Counts the members of all objects by their colons and throws for nesting that is too deep. Up to
 * the first syntax error the function sees the same strings as the parser. The rest does not
 * matter.
 */
function scan(text: string): number {
  let depth = 0
  let members = 0
  for (let i = 0; i < text.length; i++) {
    switch (text[i]) {
      case '"':
        i = endOfString(text, i)
        break
      case '{':
      case '[':
        depth += 1
        if (depth > MAX_NESTING) throw new FieldError('', `JSON nested deeper than ${MAX_NESTING}`)
        break
      case '}':
      case ']':
        depth -= 1
        break
      case ':':
        members += 1
        break
    }
  }
  return members
}

/**
 * Returns the index of the quotation mark that ends a string: the next one after an even number of
 * backslashes.
 */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let first = end
    while (text[first - 1] === '\\') first -= 1
    if ((end - first) % 2 === 0) return end
  }
  return text.length
}

/** Throws for a value that I-JSON does not allow. Returns the number of members of all objects. */
function check(value: JsonValue, hasEscapes: boolean): number {
  if (typeof value === 'string') {
    checkString(value, hasEscapes)
  } else if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new FieldError('', 'JSON with a number that is out of range')
  } else if (Array.isArray(value)) {
    let members = 0
    for (const element of value) members += check(element, hasEscapes)
    return members
  } else if (value !== null && typeof value === 'object') {
    const entries = Object.entries(value)
    let members = entries.length
    for (const [name, member] of entries) {
      checkString(name, hasEscapes)
      members += check(member, hasEscapes)
    }
    return members
  }
  return 0
}

/** Text that was UTF-8 can only contain an unpaired surrogate as an escape. */
function checkString(text: string, hasEscapes: boolean): void {
  if (hasEscapes && /\p{Surrogate}/u.test(text))
    throw new FieldError('', 'JSON with an unpaired surrogate')
}
