import { processOptions } from '../repositories/repositories.ts'

type GitPlace = ReturnType<typeof processOptions>

import { readCommit } from '../objects/commits.ts'
import { parseCommit, parseTag } from '../objects/raw-objects.ts'
import { ByteReader } from '../processes/byte-reader.ts'
import { printedByGit, runGit } from '../processes/child-process.ts'
import type { Repositories } from '../repositories/repositories.ts'

/** What a ref leads to. */
export interface RefTarget {
  /** Whether the ref names a tag object. */
  readonly isAnnotated: boolean
  /** The commit; undefined where a tag leads to something else. */
  readonly commitId: string | undefined
  /** Of the tagger or, without one, of the committer, in Unix seconds; 0 where neither is known. */
  readonly time: number
  /**
   * Of the tag object or the commit, without a signature and blank lines around it, and not longer
   * than `MAX_MESSAGE_BYTES`.
   */
  readonly message: string
}

/** Kept of a message. A list shows fifty of them. */
const MAX_MESSAGE_BYTES = 64 * 1024

/**
 * Objects that are looked up one by one, which a process takes longer for: most moves are of one
 * branch.
 */
const MAX_LOOKED_UP = 4

/** Read of an object: headers, with a signature or two, and the message. */
const MAX_CONTENT_BYTES = MAX_MESSAGE_BYTES + 32 * 1024

/**
 * What the commits and tag objects that refs hold lead to, by their ids. Ids of other objects and
 * of nothing are left out.
 *
 * Unlike reading for a caller it does not wait behind others: what has moved must be recorded.
 *
 * @param ids in full; few enough that their messages fit into memory.
 */
export async function readRefTargets(
  repositories: Repositories,
  id: number,
  ids: readonly string[],
): Promise<ReadonlyMap<string, RefTarget>> {
  const place = processOptions(repositories, id)
  const targets = new Map<string, RefTarget>()
  if (ids.length <= MAX_LOOKED_UP) await lookUp(repositories, id, ids, targets)
  const others = [...new Set(ids)].filter((objectId) => !targets.has(objectId))
  for await (const { objectId, type, content } of readContents(place, others)) {
    if (type === 'commit')
      targets.set(objectId, {
        isAnnotated: false,
        commitId: objectId,
        ...commitOf(objectId, content),
      })
    if (type === 'tag')
      targets.set(objectId, { isAnnotated: true, commitId: undefined, ...tagOf(objectId, content) })
  }
  for (const [tagId, commitId] of await peelTags(place, targets)) {
    const target = targets.get(tagId)
    if (target) targets.set(tagId, { ...target, commitId })
  }
  return targets
}

/** Adds the commits among some objects, as far as there is nothing odd about them. */
async function lookUp(
  repositories: Repositories,
  id: number,
  ids: readonly string[],
  targets: Map<string, RefTarget>,
): Promise<void> {
  const commits = await Promise.all(
    ids.map((commitId) => readCommit(repositories, id, commitId).catch(() => undefined)),
  )
  for (const commit of commits) {
    // In another encoding than UTF-8.
    if (!commit || commit.message.includes('\ufffd')) continue
    const { committer, message } = commit
    const described = { time: committer.time, message: cut(message).trim() }
    targets.set(commit.id, { isAnnotated: false, commitId: commit.id, ...described })
  }
}

function tagOf(id: string, content: Buffer): Pick<RefTarget, 'time' | 'message'> {
  const { message, tagger } = parseTag(id, content)
  return { message: cut(message).trim(), time: tagger?.time ?? 0 }
}

function commitOf(id: string, content: Buffer): Pick<RefTarget, 'time' | 'message'> {
  const { message, committer } = parseCommit(id, content)
  return { message: cut(message).trim(), time: committer.time }
}

/** Whole characters of as many bytes as are kept. */
function cut(text: string): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= MAX_MESSAGE_BYTES) return text
  return bytes
    .subarray(0, MAX_MESSAGE_BYTES)
    .toString()
    .replace(/\ufffd+$/, '')
}

/** The commits that tag objects lead to, tags of tags in the end, by the ids of the tags. */
async function peelTags(
  place: GitPlace,
  targets: ReadonlyMap<string, RefTarget>,
): Promise<(readonly [tagId: string, commitId: string])[]> {
  const tags = [...targets].flatMap(([id, { isAnnotated }]) => (isAnnotated ? id : []))
  if (tags.length === 0) return []
  const input = tags.map((id) => `${id}^{commit}\n`).join('')
  const { code, stdout, stderr } = await runGit(
    ['cat-file', '--batch-check', '--buffer'],
    place,
    input,
  )
  if (code !== 0) throw new Error(`git cat-file failed: ${stderr}`)
  return stdout.split('\n').flatMap((line, i) => {
    const [commitId = '', type] = line.split(' ')
    return type === 'commit' ? [[tags[i] ?? '', commitId] as const] : []
  })
}

/** The beginnings of commits and tag objects. What else there is gives its type alone. */
async function* readContents(place: GitPlace, ids: readonly string[]) {
  if (ids.length === 0) return
  const input = ids.map((id) => `${id}\n`).join('')
  const chunks = printedByGit(['cat-file', '--batch', '--buffer'], place, input)
  try {
    const output = new ByteReader(chunks)
    for (let line = await output.line(); line !== undefined; line = await output.line()) {
      const [objectId = '', type = '', size] = line.split(' ')
      // `id missing`
      if (size === undefined) continue
      const isDescribed = type === 'commit' || type === 'tag'
      yield {
        objectId,
        type,
        content: await output.bytes(Number(size), isDescribed ? MAX_CONTENT_BYTES : 0),
      }
      // The line feed behind it.
      await output.bytes(1, 0)
    }
  } finally {
    await chunks.return()
  }
}
