import type { JsonObject, JsonValue } from '@bufbuild/protobuf'
import { FieldError } from './field-error.ts'
import { MAX_NESTING } from './message-fields.ts'

// A byte order mark stays in the text, where JSON has no place for it (RFC 8259 section 8.1).
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Parses bytes that have to be one JSON value in UTF-8, as strictly as protobuf has it, which is
 * I-JSON (RFC 7493): no member name twice in one object, no unpaired surrogates, no number beyond
 * the range of a double. Throws FieldError without a field for anything else, and for arrays and
 * objects nested deeper than `MAX_NESTING`.
 */
export function parseJson(bytes: Uint8Array): JsonValue {
  const text = decode(bytes)
  const memberCount = scan(text)
  const value = parse(text)
  // JSON.parse keeps the last of several members of one name: then fewer are left than the text has
  // colons.
  if (check(value, text.includes('\\u')) !== memberCount)
    throw new FieldError('', 'JSON with a member name used twice')
  return value
}

/** Whether a JSON value is an object, and no array. */
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
    // The engine's message quotes the body, which is no business of logs.
    throw new FieldError('', 'the body is not one JSON value')
  }
}

/**
 * Counts the members of all objects by their colons, and refuses depth before any recursion meets
 * it. Up to the first syntax error it sees the same strings as the parser, and behind it nothing
 * matters.
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
 * Index of the quotation mark that ends a string: the next one behind an even number of
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

/** Refuses what a parsed value must not hold, and counts the members of its objects. */
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

/** In text that was UTF-8, only an escape can make half a surrogate pair. */
function checkString(text: string, hasEscapes: boolean): void {
  if (hasEscapes && /\p{Surrogate}/u.test(text))
    throw new FieldError('', 'JSON with an unpaired surrogate')
}
