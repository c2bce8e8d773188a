import { createWriteStream } from 'node:fs'
import { appendFile, mkdir, open, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Pack, pack } from 'tar-stream'
import type { RunInSlot } from '../../platform/concurrency/fair-slots.ts'
import type { Holder } from '../../platform/concurrency/holders.ts'
import type { Db } from '../../platform/database/schema.ts'
import { readSnapshot } from '../../platform/database/snapshots.ts'
import { HEADS, type Ref, TAGS } from '../../platform/git/core/ref-names.ts'
import { streamBundle } from '../../platform/git/objects/archives.ts'
import { inspectObjects } from '../../platform/git/objects/objects.ts'
import { listRefs } from '../../platform/git/refs/refs.ts'
import { scratchPath } from '../../platform/git/repositories/repositories.ts'
import { readableKinds } from '../conversations/conversation-readers.ts'
import type { IssueAttachment } from '../conversations/schema.ts'
import { holderOf, requireScope, type SignedIn } from '../core/access.ts'
import { DomainError } from '../core/errors.ts'
import { suffices } from '../core/levels.ts'
import type { RepositoryName } from '../core/names.ts'
import {
  checkNotImporting,
  type OpenRepository,
  openRepository,
  seesDrafts,
} from '../repositories/access/permissions.ts'
import { attachmentKey } from '../repositories/attachments/attachment-files.ts'
import type { StoredFile } from '../repositories/attachments/stored-files.ts'
import { reading, readingStream } from '../repositories/content/git-reading.ts'
import { findRepositoryById } from '../repositories/lifecycle/repositories.rows.ts'
import type { ReposApp } from '../repositories/ports.ts'
import { pendingRefUpdatesOf } from '../repositories/refs/branches.rows.ts'
import {
  ARCHIVE_FORMAT,
  ARCHIVE_VERSION,
  ASSETS,
  ATTACHMENTS,
  BUNDLE,
  type JsonRecord,
  LISTS,
  type ListName,
  listEntry,
  MANIFEST,
} from './archive-format.ts'
import {
  type Attachments,
  conversationLines,
  type ExportedFile,
  type ExportedRelease,
  labelLine,
  milestoneLine,
  releaseLines,
} from './archive-records.ts'
import * as rows from './exported-projects.rows.ts'

/** The number of conversations that an export reads at a time. */
const PAGE = 50

/** Attempts to take the rows at a moment when no ref moves. A busy project never rests. */
const MAX_ATTEMPTS = 10

/** A project as an archive, ready to be streamed. */
interface ProjectArchive {
  /** File name. */
  readonly name: string
  readonly chunks: AsyncIterable<Buffer>
}

/** What the caller may read beside the code. */
interface ReadableParts {
  readonly issues: boolean
  readonly pulls: boolean
  readonly releases: boolean
  readonly drafts: boolean
}

/**
 * Returns a project as an archive: its Git repository and its records as they are at one moment. What the
 * caller may not read is left out, and the manifest names those kinds. The first chunk follows once the
 * rows are read.
 *
 * @throws as `openRepository`; SCOPE_MISSING, REPOSITORY_IMPORTING, TOO_MANY_COPIES
 */
export async function exportProject(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
): Promise<ProjectArchive> {
  requireScope(caller, 'read:issue')
  const opened = await openRepository(app, caller, name, 'read')
  checkNotImporting(opened.repository)
  const { units } = opened
  const readable = {
    ...readableKinds(units),
    releases: suffices(units.releases, 'read'),
    drafts: seesDrafts(caller, opened),
  }
  const chunks = archive(app, opened, readable)
  return {
    name: `${opened.repository.name}.tar`,
    chunks: inSlot(app.copies, holderOf(caller), chunks),
  }
}

/** Holds a slot while chunks are read. */
async function* inSlot(
  slots: RunInSlot,
  holder: Holder,
  chunks: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer, void, undefined> {
  let end = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  await new Promise<void>((resolve, reject) => {
    const begun = () => {
      resolve()
      return ended
    }
    slots(holder, begun).catch(reject)
  })
  try {
    yield* chunks
  } finally {
    end()
  }
}

async function* archive(
  app: ReposApp,
  opened: OpenRepository,
  readable: ReadableParts,
): AsyncGenerator<Buffer, void, undefined> {
  const folder = scratchPath(app.git)
  await mkdir(folder, { mode: 0o700 })
  const tar = pack()
  try {
    const content = await collect(app, opened, readable, folder)
    const written = writeArchive(app, tar, { folder, ...content }).catch((error: Error) => {
      tar.destroy(error)
    })
    try {
      for await (const chunk of tar) yield chunk as Buffer
    } finally {
      tar.destroy()
      await written
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** What an archive has beside its lists. */
interface Content {
  readonly repositoryId: number
  readonly manifest: JsonRecord
  readonly refs: readonly Ref[]
  /** The files of releases and texts. */
  readonly files: readonly ExportedFile<ArchivedFile>[]
}

type ArchivedFile = Pick<StoredFile, 'uuid' | 'store'> & { readonly repository_id: number }

/** Reads the rows of one moment into files, and the refs of the same moment. */
async function collect(
  app: ReposApp,
  opened: OpenRepository,
  readable: ReadableParts,
  folder: string,
): Promise<Content> {
  const { id } = opened.repository
  for (let attempt = 1; ; attempt += 1) {
    const before = await sharedRefs(app, id)
    const found = await readSnapshot(app.db, async (db) => {
      const after = await sharedRefs(app, id)
      const isQuiet =
        JSON.stringify(before) === JSON.stringify(after) &&
        (await pendingRefUpdatesOf(db, id)).length === 0
      if (!isQuiet && attempt < MAX_ATTEMPTS) return undefined
      const lists = {
        db,
        folder,
        urlOf: (uuid: string) => `${app.publicUrl()}/attachments/${uuid}`,
      }
      return { ...(await writeLists(lists, opened, readable)), refs: after }
    })
    if (!found) continue
    const { commits, heads, ...content } = found
    const known = await reading(inspectObjects(app.git, id, [...new Set(commits)]))
    const isHead = new Set(heads.map((head) => head.id))
    // A commit that no branch may have any more, such as the former head of a reviewed pull request.
    const others = [...known]
      .filter(([commit, { type }]) => type === 'commit' && !isHead.has(commit))
      .map(([commit]) => commit)
    const refs = [
      ...found.refs,
      ...heads.filter((ref) => known.has(ref.id)),
      ...others.sort().map((commit) => ({ id: commit, name: `refs/pull/0/${commit}` })),
    ]
    return { ...content, repositoryId: id, refs }
  }
}

async function sharedRefs(app: ReposApp, id: number): Promise<Ref[]> {
  const refs: Ref[] = []
  for await (const ref of listRefs(app.git, id, [HEADS, TAGS])) refs.push(ref)
  return refs
}

/** What the lists are made of, and where they are written. */
interface Lists extends Pick<Attachments, 'urlOf'> {
  readonly db: Db
  readonly folder: string
}

/** Writes the lists into files of a folder. */
async function writeLists(
  { db, folder, urlOf }: Lists,
  { repository: { id }, owner }: OpenRepository,
  { issues, pulls, releases, drafts }: ReadableParts,
) {
  const repository = await findRepositoryById(db, id)
  if (!repository) throw new DomainError('REPOSITORY_NOT_FOUND')
  const write = async (list: ListName, lines: readonly JsonRecord[]) =>
    appendFile(join(folder, listEntry(list)), lines.map((l) => `${JSON.stringify(l)}\n`).join(''))
  for (const list of LISTS) await write(list, [])
  const organizationId = owner.kind === 'ORGANIZATION' ? owner.id : null
  if (issues || pulls) {
    const labels = await rows.labelsOfProject(db, id, organizationId)
    const byName = new Map(labels.toReversed().map((label) => [label.name, label]))
    await write('labels', labels.filter((label) => byName.get(label.name) === label).map(labelLine))
    await write('milestones', (await rows.milestonesOfProject(db, id)).map(milestoneLine))
  }
  const commits: string[] = []
  const heads: Ref[] = []
  const attached: ExportedFile<IssueAttachment>[] = []
  const entryOf = (file: IssueAttachment) => {
    const entry = `${ATTACHMENTS}${attached.length + 1}`
    attached.push({ file, entry })
    return entry
  }
  const kinds = [
    ...(issues ? (['issues'] as const) : []),
    ...(pulls ? (['pull_requests'] as const) : []),
  ]
  for (const kind of kinds)
    for await (const page of conversationPages(db, { id, kind }, { urlOf, entryOf })) {
      await write(kind, page.conversations)
      await write('comments', page.comments)
      await write('reviews', page.reviews)
      commits.push(...page.commits)
      heads.push(...page.heads)
    }
  const found = releases ? await rows.releasesOfProject(db, id, drafts) : []
  const exported = await withAssets(db, found)
  await write('releases', await releaseLines(db, exported))
  const leftOut = { issues: !issues, pull_requests: !pulls, releases: !releases }
  const manifest = {
    format: ARCHIVE_FORMAT,
    version: ARCHIVE_VERSION,
    repository: {
      name: repository.name,
      description: repository.description,
      website: repository.website,
      private: repository.private === 1,
      default_branch: repository.default_branch,
    },
    left_out: Object.entries(leftOut).flatMap(([kind, isLeftOut]) => (isLeftOut ? [kind] : [])),
  }
  const files = [...exported.flatMap(({ assets }) => assets), ...attached]
  return { manifest, commits, heads, files }
}

/** Yields the records of the issues or pull requests, with the refs of the heads. */
async function* conversationPages(
  db: Db,
  { id, kind }: { readonly id: number; readonly kind: 'issues' | 'pull_requests' },
  attachments: Attachments,
) {
  const isPull = kind === 'pull_requests' ? 1 : 0
  for (let after = 0; ; ) {
    const found = await rows.conversationsAfter(db, id, { isPull, after }, PAGE)
    const last = found.at(-1)
    if (!last) return
    const lines = await conversationLines(db, found, attachments)
    const heads = (isPull === 1 ? found : []).map(({ number, head_commit }) => ({
      name: `refs/pull/${number}/head`,
      id: head_commit,
    }))
    yield { ...lines, commits: [...lines.commits, ...heads.map((head) => head.id)], heads }
    after = last.number
  }
}

async function withAssets(db: Db, releases: ExportedRelease['release'][]) {
  const exported: ExportedRelease[] = []
  let count = 0
  for (const release of releases) {
    const assets = await rows.assetsOf(db, [release.id])
    exported.push({
      release,
      assets: assets.map((file) => {
        count += 1
        return { file, entry: `${ASSETS}${count}` }
      }),
    })
  }
  return exported
}

/** Two archives of the same project have the same bytes. */
const ENTRY = { mode: 0o644, mtime: new Date(0), uid: 0, gid: 0 } as const

async function writeArchive(
  app: ReposApp,
  tar: Pack,
  { folder, repositoryId, manifest, refs, files }: Content & { readonly folder: string },
): Promise<void> {
  const bundle = join(folder, BUNDLE)
  const history = readingStream(streamBundle(app.git, repositoryId, refs))
  await pipeline(Readable.from(history), createWriteStream(bundle, { mode: 0o600 }))
  await addContent(tar, MANIFEST, `${JSON.stringify(manifest, undefined, 2)}\n`)
  for (const name of [BUNDLE, ...LISTS.map(listEntry)]) {
    const path = join(folder, name)
    const { size } = await stat(path)
    const file = await open(path)
    await addStream(tar, { name, size }, file.createReadStream())
    await rm(path)
  }
  for (const { file, entry } of files) {
    const key = attachmentKey(file.repository_id, file.uuid)
    const stored = await app.objects.of(file.store).get(key)
    // A file that was deleted meanwhile.
    if (stored) await addStream(tar, { name: entry, size: stored.bytes }, stored.content)
  }
  tar.finalize()
}

function addContent(tar: Pack, name: string, content: string): Promise<void> {
  return new Promise((resolve, reject) => {
    tar.entry({ ...ENTRY, name }, content, (error) => (error ? reject(error) : resolve()))
  })
}

function addStream(
  tar: Pack,
  header: { readonly name: string; readonly size: number },
  content: Readable,
): Promise<void> {
  return pipeline(content, tar.entry({ ...ENTRY, ...header }))
}
