import { findUserByUsername } from '../../accounts/users/owners.ts'
import type { SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { RepositoryName } from '../../core/names.ts'
import { type OpenRepository, openRepository } from '../../repositories/access/permissions.ts'
import { findCommitId } from '../../repositories/content/git-reading.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import {
  compileOwnedPaths,
  findOwningTeam,
  MAX_FILE_BYTES,
  MAX_RULES,
  readCodeOwnersFile,
  ruleTokensOf,
} from './code-owners.ts'
import { mayReview } from './review-requests.ts'
import { teamReads } from './review-rules.ts'

/** What is wrong with a line of a CODEOWNERS file, which code owners leave out. */
export interface CodeOwnerError {
  readonly path: string
  /** From 1, like `column`. */
  readonly line: number
  readonly column: number
  readonly kind:
    | 'FILE_TOO_LARGE'
    | 'TOO_MANY_RULES'
    | 'INVALID_PATTERN'
    | 'MISSING_OWNERS'
    | 'UNKNOWN_OWNER'
  /** The line. */
  readonly source: string
  /** A sentence for people. */
  readonly message: string
}

/** The most errors that are returned. */
const MAX_ERRORS = 100

/**
 * Returns what is wrong with the CODEOWNERS file of a commit. For users who may write the code, since
 * errors tell which users may read the repository.
 *
 * @param ref a branch, another ref or the id of a commit; empty for the default branch.
 * @throws PATH_NOT_FOUND if there is no file.
 */
export async function findCodeOwnerErrors(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  ref: string,
): Promise<CodeOwnerError[]> {
  const open = await openRepository(app, caller, name, 'write')
  const file = await readCodeOwnersFile(app, open, await findCommitId(app, open.repository, ref))
  if (!file) throw new DomainError('PATH_NOT_FOUND', { path: 'CODEOWNERS' })
  const { path, text, isTooLarge } = file
  if (isTooLarge) {
    const message = `The file has more than ${MAX_FILE_BYTES} bytes. The rest has no effect.`
    return [{ path, line: 1, column: 1, kind: 'FILE_TOO_LARGE', source: '', message }]
  }
  return errorsIn(app, open, path, text.split('\n'))
}

async function errorsIn(
  app: ReposApp,
  open: OpenRepository,
  path: string,
  lines: readonly string[],
): Promise<CodeOwnerError[]> {
  const errors: CodeOwnerError[] = []
  const known = new Map<string, boolean>()
  let rules = 0
  for (const [i, source] of lines.entries()) {
    if (errors.length >= MAX_ERRORS) break
    const [pattern, ...names] = ruleTokensOf(source)
    if (pattern === undefined) continue
    const add = (kind: CodeOwnerError['kind'], token: string, message: string) =>
      errors.push({ path, line: i + 1, column: columnOf(source, token), kind, source, message })
    if (rules === MAX_RULES) {
      add('TOO_MANY_RULES', pattern, `Rules after the first ${MAX_RULES} have no effect.`)
      break
    }
    if (names.length === 0) {
      add('MISSING_OWNERS', pattern, 'The line names no owners.')
    } else if (!compileOwnedPaths(pattern)) {
      add(
        'INVALID_PATTERN',
        pattern,
        'The pattern is no regular expression of RE2, or too complex.',
      )
    } else {
      rules += 1
      for (const token of names) {
        const name = token.replace(/^@/, '')
        const isKnown = known.get(name) ?? (await isOwner(app, open, name))
        known.set(name, isKnown)
        if (!isKnown) add('UNKNOWN_OWNER', token, `${name} does not exist, or may not review.`)
      }
    }
  }
  return errors.slice(0, MAX_ERRORS)
}

/** Returns the place of a token, or of the line if the token has escapes. */
function columnOf(source: string, token: string): number {
  return Math.max(source.indexOf(token), 0) + 1
}

async function isOwner(app: ReposApp, open: OpenRepository, name: string): Promise<boolean> {
  if (name.includes('/')) {
    const team = await findOwningTeam(app, open, name)
    return team !== undefined && (await teamReads(app.db, team, open.repository))
  }
  const user = await findUserByUsername(app.db, name)
  return user !== undefined && (await mayReview(app, user, open))
}
