import { isObjectId } from './objects.ts'
import { readGit, splitAtZeros } from './reading.ts'
import type { Repositories } from './repositories.ts'

/** Whoever has written a commit, as it says. */
export interface Author {
  readonly name: string
  readonly email: string
}

/** Kept of a name with its address. */
const MAX_AUTHOR_BYTES = 1024

/** Commits that are looked at: more of them have no more authors than anybody reads. */
const MAX_COMMITS = 10_000

/** Between a name and an address, in neither of which Git leaves it (ident.c). */
const SEPARATOR = '\n'

/**
 * The authors of the commits that lead to one commit and not to another, those of merges left out; each once by the address, in the
 * order of their first commits.
 *
 * @param from, without ids of commits in full.
 * @param maxAuthors told of.
 * @throws GitError BUSY, TIMEOUT
 */
export async function listAuthors(
  repositories: Repositories,
  id: number,
  from: string,
  without: string,
  maxAuthors: number,
): Promise<Author[]> {
  if (!isObjectId(from) || !isObjectId(without)) throw new Error(`no ids of commits: ${from}, ${without}`)
  const range = [`--max-count=${MAX_COMMITS}`, '--no-merges', '--reverse', from, `^${without}`, '--']
  const args = ['log', '-z', '--no-mailmap', '--format=%an%n%ae', ...range]
  const authors = new Map<string, Author>()
  for await (const record of splitAtZeros(readGit(repositories, id, args), MAX_AUTHOR_BYTES)) {
    const [name = '', email = ''] = record.toString().split(SEPARATOR)
    const key = email.toLowerCase()
    if (!authors.has(key)) authors.set(key, { name, email })
    if (authors.size === maxAuthors) break
  }
  return [...authors.values()]
}
