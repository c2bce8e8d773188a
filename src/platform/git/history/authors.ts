import { isObjectId } from '../core/object-ids.ts'
import { readGit, splitAtZeros } from '../repositories/reading.ts'
import type { Repositories } from '../repositories/repositories.ts'
import { resultsOf } from '../repositories/repository-results.ts'

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

/** Memory of all cached credits, and of an author without the texts. */
const MAX_CREDITS_BYTES = 4 * 1024 ** 2
const AUTHOR_BYTES = 100

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
 * without merges. The result never changes and is cached: the page of an open pull request asks for
 * it at each view.
 *
 * @param from, without full ids of commits.
 * @param maxAuthors maximum number of authors, and of co-authors.
 * @throws GitError BUSY, TIMEOUT
 */
export function listAuthors(
  repositories: Repositories,
  id: number,
  from: string,
  without: string,
  maxAuthors: number,
): Promise<Credits> {
  if (!isObjectId(from) || !isObjectId(without))
    throw new Error(`no ids of commits: ${from}, ${without}`)
  const cache = resultsOf<Credits>(repositories, 'credits', MAX_CREDITS_BYTES, memoryOf)
  return cache.get(id, `${from} ${without} ${maxAuthors}`, () =>
    readAuthors(repositories, id, { from, without, maxAuthors }),
  )
}

/** Memory of all cached lists of addresses, and limits of what is read for one. */
const MAX_ADDRESSES_BYTES = 8 * 1024 ** 2
const MAX_WALKED_COMMITS = 100_000
const MAX_ADDRESSES = 5_000

/**
 * Returns the addresses of the authors of a commit and of those before it, as the commits have them:
 * up to `MAX_ADDRESSES` of the latest `MAX_WALKED_COMMITS` commits. The result never changes and is
 * cached.
 *
 * @param from full id of a commit.
 * @throws GitError BUSY, TIMEOUT
 */
export function authorAddresses(
  repositories: Repositories,
  id: number,
  from: string,
): Promise<readonly string[]> {
  if (!isObjectId(from)) throw new Error(`no id of a commit: ${from}`)
  const cache = resultsOf<readonly string[]>(
    repositories,
    'author addresses',
    MAX_ADDRESSES_BYTES,
    (addresses) => addresses.reduce((bytes, address) => bytes + address.length * 2 + 16, 0),
  )
  return cache.get(id, from, async () => {
    const range = [`--max-count=${MAX_WALKED_COMMITS}`, from, '--']
    const args = ['log', '-z', '--no-mailmap', '--format=%ae', ...range]
    const addresses = new Set<string>()
    for await (const record of splitAtZeros(readGit(repositories, id, args), MAX_AUTHORS_BYTES)) {
      addresses.add(record.toString())
      if (addresses.size === MAX_ADDRESSES) break
    }
    return [...addresses]
  })
}

function memoryOf({ authors, coAuthors }: Credits): number {
  return [...authors, ...coAuthors].reduce(
    (bytes, { name, email }) => bytes + (name.length + email.length) * 2 + AUTHOR_BYTES,
    0,
  )
}

async function readAuthors(
  repositories: Repositories,
  id: number,
  { from, without, maxAuthors }: { from: string; without: string; maxAuthors: number },
): Promise<Credits> {
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
