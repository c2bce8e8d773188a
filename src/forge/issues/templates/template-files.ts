import { readCommit } from '../../../platform/git/objects/commits.ts'
import { objectCacheOf } from '../../../platform/git/objects/object-cache.ts'
import { ObjectPresence } from '../../../platform/git/objects/object-presence.ts'
import { readObject } from '../../../platform/git/objects/objects.ts'
import { findEntries, listTree, type TreeEntry } from '../../../platform/git/objects/trees.ts'
import type { YamlResult } from '../../../platform/markup/yaml.ts'
import type { Caller } from '../../core/access.ts'
import { parseYamlText } from '../../core/markup.ts'
import type { RepositoryName } from '../../core/names.ts'
import { openRepository } from '../../repositories/access/permissions.ts'
import { admitContent, findCommitId, reading } from '../../repositories/content/git-reading.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { DEFAULT_CONFIG, type IssueConfig, issueConfigOf } from './issue-config.ts'
import {
  checkHead,
  type FormField,
  formFields,
  isYamlMap,
  TemplateFault,
  type TemplateHead,
  templateHead,
} from './issue-forms.ts'

/** A template of issues. */
export interface IssueTemplate extends TemplateHead {
  readonly path: string
  /** Markdown below the front matter. Empty for forms. */
  readonly content: string
  /** Empty unless the template is a form. */
  readonly fields: readonly FormField[]
}

/** What a file says, or the rule that the file breaks. */
export type Parsed<T> = { readonly value: T } | { readonly fault: string }

/** A file of templates. */
export interface TemplateFile {
  readonly path: string
  readonly template: Parsed<IssueTemplate>
}

/** The files of the default branch, for a caller who may read code. */
export interface TemplatePlace {
  readonly app: ReposApp
  readonly caller: Caller
  readonly repositoryId: number
  /** Undefined while the branch does not exist. */
  readonly treeId: string | undefined
}

const SPELLINGS = ['ISSUE_TEMPLATE', 'issue_template']
const HIDDEN_FOLDERS = ['.forgejo', '.gitea', '.github', '.gitlab']

/** The folders with templates. The order is that of the list. */
const TEMPLATE_FOLDERS = ['', ...HIDDEN_FOLDERS.map((folder) => `${folder}/`)].flatMap((folder) =>
  SPELLINGS.map((spelling) => folder + spelling),
)

/** The files with the configuration. The first one counts. */
const CONFIG_FILES = ['.forgejo', '.gitea', '.github'].flatMap((folder) =>
  SPELLINGS.flatMap((spelling) =>
    ['yaml', 'yml'].map((ending) => `${folder}/${spelling}/config.${ending}`),
  ),
)

/** The places of a template that stands alone. */
const SINGLE_FOLDERS = ['', ...HIDDEN_FOLDERS.map((folder) => `${folder}/`), 'docs/']

/** A single file counts where there is no folder of templates. */
const SINGLE_FILES = SINGLE_FOLDERS.flatMap((folder) =>
  SPELLINGS.flatMap((spelling) =>
    ['md', 'yaml', 'yml'].map((ending) => `${folder}${spelling}.${ending}`),
  ),
)

const PULL_REQUEST_FILES = SINGLE_FOLDERS.flatMap((folder) => [
  `${folder}PULL_REQUEST_TEMPLATE.md`,
  `${folder}pull_request_template.md`,
])

const MAX_FILES = 100
const MAX_FILE_BYTES = 1024 ** 2

/** Of all files of a list. Files beyond are faulty. */
const MAX_LIST_BYTES = 4 * MAX_FILE_BYTES

/** Entries of a folder that are looked at. */
const MAX_ENTRIES = 1_000

/** Memory of the templates that were read, and of one without its texts. */
const MAX_CACHE_BYTES = 32 * MAX_FILE_BYTES
const TEMPLATE_BYTES = 1_000

/**
 * Finds the files of the default branch.
 *
 * @throws as `openRepository`; REPOSITORY_UNIT_CLOSED if the caller may read other features only.
 */
export async function openTemplates(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
): Promise<TemplatePlace> {
  const { repository } = await openRepository(app, caller, name, 'read')
  const commitId = await findCommitId(app, repository, '')
  const commit =
    commitId === undefined ? undefined : await readCommit(app.git, repository.id, commitId)
  return { app, caller, repositoryId: repository.id, treeId: commit?.treeId }
}

/** Returns the templates of all folders, faulty ones included. */
export async function listTemplateFiles(place: TemplatePlace): Promise<TemplateFile[]> {
  const files: TemplateFile[] = []
  let restBytes = MAX_LIST_BYTES
  for (const entry of await templateEntries(place)) {
    const { template, bytes } = await readTemplate(
      place,
      entry,
      Math.min(MAX_FILE_BYTES, restBytes),
    )
    restBytes = Math.max(0, restBytes - bytes)
    files.push({ path: entry.path, template })
  }
  return files
}

async function templateEntries({ app, repositoryId, treeId }: TemplatePlace): Promise<TreeEntry[]> {
  if (treeId === undefined) return []
  const folders = await findEntries(app.git, repositoryId, treeId, TEMPLATE_FOLDERS)
  const entries: TreeEntry[] = []
  for (const path of TEMPLATE_FOLDERS) {
    const folder = folders.get(path)
    if (folder?.kind !== 'dir') continue
    const window = { offset: 0, limit: MAX_ENTRIES }
    const listed = await reading(listTree(app.git, repositoryId, folder.id, window))
    for (const entry of listed.entries)
      if (entry.kind === 'file' && isTemplateName(entry.path))
        entries.push({ ...entry, path: `${path}/${entry.path}` })
  }
  return entries.slice(0, MAX_FILES)
}

function isTemplateName(name: string): boolean {
  return /\.(md|ya?ml)$/.test(name) && !/^config\.ya?ml$/.test(name)
}

/** Returns the template that stands alone, if there is one. */
export async function readSingleTemplate(place: TemplatePlace): Promise<TemplateFile | undefined> {
  return readFirst(place, SINGLE_FILES)
}

/** Returns the template of pull requests, if there is one. */
export async function readPullTemplate(place: TemplatePlace): Promise<TemplateFile | undefined> {
  return readFirst(place, PULL_REQUEST_FILES)
}

async function readFirst(
  place: TemplatePlace,
  paths: readonly string[],
): Promise<TemplateFile | undefined> {
  const entry = await firstFile(place, paths)
  if (!entry) return undefined
  return { path: entry.path, template: (await readTemplate(place, entry, MAX_FILE_BYTES)).template }
}

async function firstFile(
  { app, repositoryId, treeId }: TemplatePlace,
  paths: readonly string[],
): Promise<TreeEntry | undefined> {
  if (treeId === undefined) return undefined
  const entries = await findEntries(app.git, repositoryId, treeId, paths)
  const path = paths.find((each) => entries.get(each)?.kind === 'file')
  return path === undefined ? undefined : entries.get(path)
}

/** Returns the configuration for new issues, or the fault of its file. */
export async function readIssueConfig(place: TemplatePlace): Promise<Parsed<IssueConfig>> {
  const entry = await firstFile(place, CONFIG_FILES)
  if (!entry) return { value: DEFAULT_CONFIG }
  const { parsed } = await readParsed(
    place,
    entry,
    MAX_FILE_BYTES,
    'config',
    async (text, yamlOf) => issueConfigOf(await yamlOf(text)),
  )
  // The cache has an entry for each kind, so the value is that of this kind.
  return parsed as Parsed<IssueConfig>
}

async function readTemplate(
  place: TemplatePlace,
  { path, id }: TreeEntry,
  maxBytes: number,
): Promise<{ readonly template: Parsed<IssueTemplate>; readonly bytes: number }> {
  const isMarkdown = path.endsWith('.md')
  const name = path.slice(path.lastIndexOf('/') + 1)
  const { parsed, bytes } = await readParsed(place, { id }, maxBytes, name, async (text, yamlOf) =>
    isMarkdown ? markdownTemplate(name, text, yamlOf) : formTemplate(await yamlOf(text)),
  )
  if ('fault' in parsed) return { template: parsed, bytes }
  return { template: { value: { ...(parsed.value as Omit<IssueTemplate, 'path'>), path } }, bytes }
}

type ReadYaml = (text: string) => Promise<YamlResult>

interface ReadFile {
  readonly parsed: Parsed<unknown>
  /** Size of the file. */
  readonly bytes: number
}

/**
 * Returns what a file says. The result is cached by the id of the file.
 *
 * @param variant tells what was made of the same file apart.
 * @param parse throws TemplateFault
 */
async function readParsed(
  { app, caller, repositoryId }: TemplatePlace,
  { id: blobId }: Pick<TreeEntry, 'id'>,
  maxBytes: number,
  variant: string,
  parse: (text: string, yamlOf: ReadYaml) => Promise<unknown>,
): Promise<ReadFile> {
  const cache = objectCacheOf<ReadFile>(
    app.git,
    'templates',
    MAX_CACHE_BYTES,
    (file) => file.bytes * 4 + TEMPLATE_BYTES,
  )
  const presence = new ObjectPresence(app.git, repositoryId)
  const known = cache.get(repositoryId, blobId, presence, ` ${variant}`)
  const tooLarge = { parsed: { fault: 'the file is too large' }, bytes: 0 }
  if (known) {
    admitContent(known.bytes)
    return known.bytes > maxBytes ? tooLarge : known
  }
  const before = presence.evidenceOf(blobId)
  const file = await reading(
    readObject(app.git, repositoryId, blobId, ({ bytes }) => {
      if (bytes > maxBytes) return 0
      admitContent(bytes)
      return bytes
    }),
  )
  if (!file || file.bytes > maxBytes) return tooLarge
  const text = file.content.toString().replace(/^\ufeff/, '')
  const parsed = await attempt(() => parse(text, (yaml) => parseYamlText(app, caller, yaml)))
  const result = { parsed, bytes: file.bytes }
  cache.set(repositoryId, blobId, result, { before, presence, variant: ` ${variant}` })
  return result
}

async function attempt(work: () => Promise<unknown>): Promise<Parsed<unknown>> {
  try {
    return { value: await work() }
  } catch (error) {
    if (error instanceof TemplateFault) return { fault: error.message }
    throw error
  }
}

function formTemplate(parsed: YamlResult): Omit<IssueTemplate, 'path'> {
  if ('error' in parsed) throw new TemplateFault(parsed.error)
  if (!isYamlMap(parsed.value)) throw new TemplateFault('the file should have keys')
  const head = templateHead(parsed.value)
  checkHead(head)
  return { ...head, content: '', fields: formFields(parsed.value) }
}

/** Characters of a text that stand for its description. */
const ABOUT_CHARACTERS = 80

async function markdownTemplate(
  name: string,
  text: string,
  yamlOf: ReadYaml,
): Promise<Omit<IssueTemplate, 'path'>> {
  const matter = frontMatter(text)
  const parsed = matter && (await yamlOf(matter.yaml))
  if (!matter || !parsed || 'error' in parsed || !isYamlMap(parsed.value)) {
    const about = [...text.slice(0, 2 * ABOUT_CHARACTERS)].slice(0, ABOUT_CHARACTERS).join('')
    const head = { name, about, title: '', labels: [], assignees: [], ref: '' }
    return { ...head, content: text, fields: [] }
  }
  const head = templateHead(parsed.value)
  checkHead(head)
  return { ...head, content: matter.content, fields: [] }
}

/** Returns the lines between two lines of hyphens at the top of a text, and what is below. */
function frontMatter(
  text: string,
): { readonly yaml: string; readonly content: string } | undefined {
  const lines = /^-{3,}[ \t]*\r?$/gm
  if (lines.exec(text)?.index !== 0) return undefined
  const start = lines.lastIndex + 1
  const end = lines.exec(text)
  if (!end) return undefined
  return { yaml: text.slice(start, end.index), content: text.slice(lines.lastIndex + 1) }
}
