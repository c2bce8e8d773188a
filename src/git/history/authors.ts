import { isObjectId } from '../core/object-ids.ts'
import { readGit, splitAtZeros } from '../repositories/reading.ts'
import type { Repositories } from '../repositories/repositories.ts'

/** Whoever has written a commit, as it says. */
export interface Author {
  readonly name: string
  readonly email: string
}

/**
 * Whoever is named by some commits, each once by the address, in the order of their first commits.
 */
export interface Credits {
  /** Who has written them. */
  readonly authors: readonly Author[]
  /**
   * Who else had a part in them, as their `Co-authored-by` trailers say
   * (git-interpret-trailers(1)).
   */
  readonly coAuthors: readonly Author[]
}

/** Kept of the names with their addresses that one commit has. */
const MAX_AUTHORS_BYTES = 16 * 1024

/** Commits that are looked at: more of them have no more authors than anybody reads. */
const MAX_COMMITS = 10_000

/**
 * Between a name and an address, in neither of which Git leaves it (ident.c), and between trailers.
 */
const SEPARATOR = '\n'

/** A name, then an address, as a trailer has them. */
const NAMED_ADDRESS = /^([^<>]*)<([^<>\s]+)>\s*$/

const FORMAT = '%an%n%ae%n%(trailers:key=Co-authored-by,valueonly=true,unfold=true)'

/**
 * Who has had a part in the commits that lead to one commit and not to another, merges left out.
 *
 * @param from, without ids of commits in full.
 * @param maxAuthors told of, and as many others.
 * @throws GitError BUSY, TIMEOUT
 */
export async function listAuthors(
  repositories: Repositories,
  id: number,
  from: string,
  without: string,
  maxAuthors: number,
): Promise<Credits> {
  if (!isObjectId(from) || !isObjectId(without))
    throw new Error(`no ids of commits: ${from}, ${without}`)
  const range = [
    `--max-count=${MAX_COMMITS}`,
    '--no-merges',
    '--reverse',
    from,
    `^${without}`,
    '--',
  ]
  const args = ['log', '-z', '--no-mailmap', `--format=${FORMAT}`, ...range]
  const authors = new Map<string, Author>()
  const coAuthors = new Map<string, Author>()
  for await (const record of splitAtZeros(readGit(repositories, id, args), MAX_AUTHORS_BYTES)) {
    const [name = '', email = '', ...trailers] = record.toString().split(SEPARATOR)
    add(authors, { name, email }, maxAuthors)
    for (const trailer of trailers) {
      const [, coName = '', coEmail] = NAMED_ADDRESS.exec(trailer) ?? []
      if (coEmail !== undefined) add(coAuthors, { name: coName.trim(), email: coEmail }, maxAuthors)
    }
    if (authors.size === maxAuthors) break
  }
  return { authors: [...authors.values()], coAuthors: [...coAuthors.values()] }
}

function add(known: Map<string, Author>, author: Author, max: number): void {
  const key = author.email.toLowerCase()
  if (!known.has(key) && known.size < max) known.set(key, author)
}
