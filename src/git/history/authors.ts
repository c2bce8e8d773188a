import { isObjectId } from '../core/object-ids.ts'
import { readGit, splitAtZeros } from '../repositories/reading.ts'
import type { Repositories } from '../repositories/repositories.ts'

/** The author of a commit. */
export interface Author {
  readonly name: string
  readonly email: string
}

/** Authors of commits, one for each address, in the order of their first commits. */
export interface Credits {
  readonly authors: readonly Author[]
  /** Authors in `Co-authored-by` trailers (git-interpret-trailers(1)). */
  readonly coAuthors: readonly Author[]
}

/** Longest text of the names and addresses of one commit. */
const MAX_AUTHORS_BYTES = 16 * 1024

/** Number of commits that are read. */
const MAX_COMMITS = 10_000

/** Separates names, addresses and trailers, none of which contains a line feed (ident.c). */
const SEPARATOR = '\n'

/** A name and an address in a trailer. */
const NAMED_ADDRESS = /^([^<>]*)<([^<>\s]+)>\s*$/

const FORMAT = '%an%n%ae%n%(trailers:key=Co-authored-by,valueonly=true,unfold=true)'

/**
 * Returns the authors of the commits that are reachable from one commit and not from another,
 * without merges.
 *
 * @param from, without full ids of commits.
 * @param maxAuthors maximum number of authors, and of co-authors.
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
