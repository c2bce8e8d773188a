import { readCommit } from '../../../platform/git/objects/commits.ts'
import { readObject } from '../../../platform/git/objects/objects.ts'
import { findEntries } from '../../../platform/git/objects/trees.ts'
import type { YamlValue } from '../../../platform/markup/yaml.ts'
import type { Caller } from '../../core/access.ts'
import { parseYamlText } from '../../core/markup.ts'
import { nameKey } from '../../core/names.ts'
import type { OpenRepository } from '../../repositories/access/permissions.ts'
import { reading } from '../../repositories/content/git-reading.ts'
import type { ReposApp } from '../../repositories/ports.ts'

/** The files with the configuration, as at GitHub. The first one counts. */
const PATHS = ['.forgejo', '.gitea', '.github'].flatMap((folder) =>
  ['yml', 'yaml'].map((ending) => `${folder}/release.${ending}`),
)

/** A longer file has no effect. */
const MAX_FILE_BYTES = 64 * 1024

/** Further categories, labels and authors have no effect. */
const MAX_CATEGORIES = 50
const MAX_NAMES = 100
const MAX_TITLE_CHARACTERS = 200

/** The label that stands for every pull request. */
const ANY = '*'

/** The heading of pull requests without a category. */
const OTHERS = 'Other Changes'

/** The pull requests that a category, or the notes, leave out. */
interface Exclusion {
  /** Keys of names. */
  readonly labels: ReadonlySet<string>
  readonly authors: ReadonlySet<string>
}

interface Category {
  readonly title: string
  readonly labels: ReadonlySet<string>
  readonly excluded: Exclusion
}

/** How a repository wants the notes of its releases. */
export interface NoteCategories {
  readonly excluded: Exclusion
  /** In the order of the file. A pull request is in the first one that has a label of it. */
  readonly categories: readonly Category[]
}

/** What decides about the place of a pull request. */
export interface Categorized {
  readonly labels: readonly string[]
  /** Empty where the author has no account. */
  readonly author: string
}

const NO_CATEGORIES: NoteCategories = {
  excluded: { labels: new Set(), authors: new Set() },
  categories: [],
}

/**
 * Reads the categories that the release of a commit has. A file that is faulty has no effect, since
 * whoever writes a release may not be able to correct the file.
 *
 * @throws SERVER_BUSY, GIT_TIMEOUT
 */
export async function readNoteCategories(
  app: ReposApp,
  caller: Caller,
  { repository: { id }, units }: OpenRepository,
  commitId: string,
): Promise<NoteCategories> {
  const commit = units.code === 'none' ? undefined : await readCommit(app.git, id, commitId)
  if (!commit) return NO_CATEGORIES
  const entries = await reading(findEntries(app.git, id, commit.treeId, PATHS))
  const entry = PATHS.map((path) => entries.get(path)).find((found) => found?.kind === 'file')
  if (!entry) return NO_CATEGORIES
  const limit = ({ bytes }: { bytes: number }) => (bytes > MAX_FILE_BYTES ? 0 : bytes)
  const file = await reading(readObject(app.git, id, entry.id, limit))
  if (!file || file.bytes > MAX_FILE_BYTES) return NO_CATEGORIES
  const parsed = await parseYamlText(app, caller, file.content.toString().replace(/^\ufeff/, ''))
  return 'error' in parsed ? NO_CATEGORIES : noteCategoriesOf(parsed.value)
}

/** Returns the categories that a file describes. What has another form than expected is left out. */
export function noteCategoriesOf(file: YamlValue): NoteCategories {
  const changelog = memberOf(file, 'changelog')
  const categories = listOf(memberOf(changelog, 'categories')).slice(0, MAX_CATEGORIES)
  return {
    excluded: exclusionOf(changelog),
    categories: categories.flatMap((category) => {
      const title = memberOf(category, 'title')
      if (typeof title !== 'string' || title.trim() === '') return []
      const heading = title.replace(/\s+/g, ' ').trim().slice(0, MAX_TITLE_CHARACTERS)
      const labels = namesOf(memberOf(category, 'labels'))
      return [{ title: heading, labels, excluded: exclusionOf(category) }]
    }),
  }
}

/** Returns whether the notes leave a pull request out. */
export function isLeftOut({ excluded }: NoteCategories, pull: Categorized): boolean {
  return isExcluded(excluded, pull)
}

/**
 * Returns the headings of the notes, each with its pull requests in their order. Without categories
 * there is one group without a heading.
 */
export function grouped<Pull extends Categorized>(
  { categories }: NoteCategories,
  pulls: readonly Pull[],
): { readonly title: string; readonly pulls: readonly Pull[] }[] {
  if (categories.length === 0) return [{ title: '', pulls }]
  const groups = [...categories.map(({ title }) => title), OTHERS].map((title) => ({
    title,
    pulls: [] as Pull[],
  }))
  for (const pull of pulls) {
    const keys = pull.labels.map(nameKey)
    const i = categories.findIndex(
      ({ labels, excluded }) =>
        (labels.has(ANY) || keys.some((key) => labels.has(key))) && !isExcluded(excluded, pull),
    )
    groups.at(i)?.pulls.push(pull)
  }
  return groups.filter((group) => group.pulls.length > 0)
}

function isExcluded({ labels, authors }: Exclusion, pull: Categorized): boolean {
  return (
    labels.has(ANY) ||
    pull.labels.some((label) => labels.has(nameKey(label))) ||
    (pull.author !== '' && authors.has(nameKey(pull.author)))
  )
}

function exclusionOf(value: YamlValue): Exclusion {
  const exclude = memberOf(value, 'exclude')
  return {
    labels: namesOf(memberOf(exclude, 'labels')),
    authors: namesOf(memberOf(exclude, 'authors')),
  }
}

function namesOf(value: YamlValue): ReadonlySet<string> {
  const names = listOf(value).flatMap((name) => (typeof name === 'string' ? nameKey(name) : []))
  return new Set(names.slice(0, MAX_NAMES))
}

function listOf(value: YamlValue): readonly YamlValue[] {
  return Array.isArray(value) ? value : []
}

function memberOf(value: YamlValue, key: string): YamlValue {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
  return Object.hasOwn(value, key) ? ((value as { [key: string]: YamlValue })[key] ?? null) : null
}
