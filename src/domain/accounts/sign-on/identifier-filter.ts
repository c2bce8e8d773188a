import { RE2JS } from 're2js'
import { DomainError } from '../../core/errors.ts'

const MAX_PATTERN_CHARACTERS = 256

/**
 * Instructions of a compiled pattern. Matching takes time in proportion to them and to the
 * identifier; a short pattern of nested repetitions compiles to hundreds of thousands, and matching
 * would take seconds.
 */
const MAX_PROGRAM_INSTRUCTIONS = 1000

/**
 * Checks a filter of identifiers: nothing, or a regular expression of RE2, whose engine never goes
 * back (https://swtch.com/~rsc/regexp/regexp1.html).
 *
 * @throws INVALID_IDENTIFIER_FILTER
 */
export function checkIdentifierFilter(filter: string): string {
  if (filter !== '' && !compile(filter)) throw new DomainError('INVALID_IDENTIFIER_FILTER')
  return filter
}

/** Whether a filter that was checked admits an identifier: it is found somewhere in it. */
export function admitsIdentifier(filter: string, identifier: string): boolean {
  return filter === '' || compile(filter)?.test(identifier) === true
}

function compile(filter: string): RE2JS | undefined {
  if ([...filter].length > MAX_PATTERN_CHARACTERS) return undefined
  try {
    const pattern = RE2JS.compile(filter)
    return pattern.programSize() <= MAX_PROGRAM_INSTRUCTIONS ? pattern : undefined
  } catch {
    // Whatever the parser stumbles over, the pattern is not one that can be used.
    return undefined
  }
}
