import { RE2JS } from 're2js'
import { DomainError } from '../../core/errors.ts'

const MAX_PATTERN_CHARACTERS = 256

/**
 * Maximum number of instructions of a compiled pattern. Matching time is proportional to it. A
 * short pattern of nested repetitions may compile to hundreds of thousands of instructions, which
 * take seconds to match.
 */
const MAX_PROGRAM_INSTRUCTIONS = 1000

/**
 * Validates a filter, which is empty or an RE2 regular expression. RE2 never backtracks
 * (https://swtch.com/~rsc/regexp/regexp1.html).
 *
 * @throws INVALID_IDENTIFIER_FILTER
 */
export function checkIdentifierFilter(filter: string): string {
  if (filter !== '' && !compile(filter)) throw new DomainError('INVALID_IDENTIFIER_FILTER')
  return filter
}

/** Returns whether a valid filter matches a part of an identifier. */
export function admitsIdentifier(filter: string, identifier: string): boolean {
  return filter === '' || compile(filter)?.test(identifier) === true
}

function compile(filter: string): RE2JS | undefined {
  if ([...filter].length > MAX_PATTERN_CHARACTERS) return undefined
  try {
    const pattern = RE2JS.compile(filter)
    return pattern.programSize() <= MAX_PROGRAM_INSTRUCTIONS ? pattern : undefined
  } catch {
    // Any parser error means that the pattern is invalid.
    return undefined
  }
}
