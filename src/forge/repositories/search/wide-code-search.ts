import { setImmediate } from 'node:timers/promises'
import { trigramsOf } from '../../../platform/database/code-trigrams.ts'
import { type FoundFile, withSearchPlace } from '../../../platform/git/objects/code-search.ts'
import { findOwnerByNameKey } from '../../accounts/users/owners.rows.ts'
import type { Caller } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import { nameKey, type Page } from '../../core/names.ts'
import { type OpenRepository, openRepositories, repositoryReader } from '../access/permissions.ts'
import { reading } from '../content/git-reading.ts'
import { findRepositoriesByIds } from '../lifecycle/repositories.rows.ts'
import type { ReposApp } from '../ports.ts'
import {
  type CodeCandidate,
  findCodeIndexes,
  findReadableFiles,
  listHits,
} from './code-index.rows.ts'
import { compileQuery, type FileView, searchFiles, withRanges } from './code-search.ts'

/** A query of a client. */
export interface WideCodeSearch {
  readonly text: string
  readonly isCaseSensitive: boolean
  readonly globs: readonly string[]
  /** Empty for all owners. */
  readonly owner: string
}

/** A file with lines that match, in the commit that the index has. */
export interface WideFile {
  readonly open: OpenRepository
  readonly commitId: string
  readonly file: FileView
}

interface WideCodeSearchView {
  readonly files: readonly WideFile[]
  /** Number of the files on all pages. */
  readonly total: number
  readonly isIncomplete: boolean
}

/** A shorter text has no trigram. */
const MIN_CHARACTERS = 3

/** Files that the index may name. `git grep` reads them, those of one repository together. */
const MAX_CANDIDATES = 2_000
const MAX_REPOSITORIES = 50
const MAX_FILES_OF_REPOSITORY = 50

/** Hits of one query, which SQLite answers in a few milliseconds, in which the server does nothing else. */
const HITS_OF_QUERY = 2_000

/** The search ends at the first of these limits. */
const MAX_FILES = 500
const MAX_SEARCH_MS = 5_000

/**
 * Searches the default branches of all repositories whose code the caller may read. The index says
 * where the text may be, and Git decides.
 *
 * @throws INVALID_FIELD, SERVER_BUSY
 */
export async function searchAllCode(
  app: ReposApp,
  caller: Caller,
  asked: WideCodeSearch,
  page: Page,
): Promise<WideCodeSearchView> {
  const { text, isCaseSensitive } = asked
  const globs = asked.globs.filter((glob) => glob !== '')
  const query = { text, isCaseSensitive, globs, isExpression: false }
  const rangesOf = compileQuery(query)
  const trigrams = trigramsOf(text)
  if (trigrams.length === 0)
    throw new DomainError('INVALID_FIELD', { field: 'q', min_length: String(MIN_CHARACTERS) })
  const ownerId = await ownerIdOf(app, asked.owner)
  const endMs = performance.now() + MAX_SEARCH_MS
  const { candidates, isCut } =
    ownerId === null
      ? { candidates: [], isCut: false }
      : await findCandidates(app, caller, { trigrams, ownerId, endMs })
  const places = await placesOf(app, caller, candidates)
  const files: (Omit<WideFile, 'file'> & { readonly file: FoundFile })[] = []
  let isIncomplete = isCut || places.some(({ isCut }) => isCut)
  for (const { open, commitId, paths } of places) {
    if (files.length >= MAX_FILES || performance.now() > endMs) {
      isIncomplete = true
      break
    }
    // Git reads paths beside the files of globs. With globs, the index decides only about repositories.
    const extent = globs.some((glob) => !glob.startsWith('!')) ? {} : { paths }
    const found = await searchFiles(app, open, commitId, { ...query, ...extent })
    isIncomplete ||= found.isIncomplete
    files.push(...found.files.map((file) => ({ open, commitId, file })))
  }
  const shown = files.slice(0, MAX_FILES)
  return {
    files: shown.slice(page.offset, page.offset + page.limit).map(({ file, ...place }) => ({
      ...place,
      file: withRanges(file, rangesOf),
    })),
    total: shown.length,
    isIncomplete,
  }
}

/**
 * Returns files that may have a text and that the caller may read, the latest indexed first. The index
 * has files of others too, so it is asked again until there are enough.
 */
function findCandidates(
  app: ReposApp,
  caller: Caller,
  search: { trigrams: readonly string[]; ownerId: number | undefined; endMs: number },
): Promise<{ candidates: readonly CodeCandidate[]; isCut: boolean }> {
  const { trigrams, ownerId, endMs } = search
  const reader = repositoryReader(app, caller)
  return reading(
    withSearchPlace(app.git, async () => {
      const candidates: CodeCandidate[] = []
      let before = Number.MAX_SAFE_INTEGER
      while (performance.now() < endMs && candidates.length < MAX_CANDIDATES) {
        const hits = await listHits(app.db, trigrams, before, HITS_OF_QUERY)
        candidates.push(...(await findReadableFiles(app.db, hits, reader, ownerId)))
        if (hits.length < HITS_OF_QUERY) return { candidates, isCut: false }
        before = Math.min(...hits)
        await setImmediate()
      }
      return { candidates, isCut: true }
    }),
  )
}

/** Returns the id of an owner; undefined for all owners, null for one that does not exist. */
async function ownerIdOf(app: ReposApp, name: string): Promise<number | undefined | null> {
  if (name === '') return undefined
  return (await findOwnerByNameKey(app.db, nameKey(name)))?.id ?? null
}

/** Where Git looks: some files of an indexed commit. */
interface Place {
  readonly open: OpenRepository
  readonly commitId: string
  readonly paths: readonly string[]
  /** Whether files are left out. */
  readonly isCut: boolean
}

/** Groups candidates by their repositories, those that changed last first. */
async function placesOf(
  app: ReposApp,
  caller: Caller,
  candidates: readonly CodeCandidate[],
): Promise<Place[]> {
  const paths = new Map<number, string[]>()
  for (const { repository_id, path } of candidates) {
    const known = paths.get(repository_id)
    if (known) known.push(path)
    else if (paths.size < MAX_REPOSITORIES) paths.set(repository_id, [path])
  }
  const ids = [...paths.keys()]
  const [repositories, indexes] = await Promise.all([
    findRepositoriesByIds(app.db, ids),
    findCodeIndexes(app.db, ids),
  ])
  const found = ids
    .flatMap((id) => repositories.get(id) ?? [])
    .sort((a, b) => b.update_time - a.update_time || b.id - a.id)
  // Rights are checked again, for each repository, as at its own page.
  const readable = await openRepositories(app, caller, found, 'code')
  return readable
    .filter(({ access }) => access !== 'none')
    .flatMap((open) => {
      const commitId = indexes.get(open.repository.id)?.commit_id
      const all = paths.get(open.repository.id) ?? []
      const isCut = all.length > MAX_FILES_OF_REPOSITORY
      // Before the first look has ended, a repository has files and no commit.
      return commitId
        ? [{ open, commitId, paths: all.slice(0, MAX_FILES_OF_REPOSITORY), isCut }]
        : []
    })
}
