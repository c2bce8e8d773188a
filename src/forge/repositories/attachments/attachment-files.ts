import type { FolderLayout } from '../../../platform/objects/folder-store.ts'
import type { FilePlace } from './schema.ts'

/**
 * Files that users upload: release assets, and attachments of issues. A file never changes. A file
 * without a row is never served; `doctor` finds such files, which a crash can leave behind.
 *
 * The key is `attachments/<repository>/<uuid>`. In the data folder, the path has one more folder.
 */
export const ATTACHMENT_KEYS = 'attachments/'

/**
 * The number of folders, named by the last two hexadecimal digits of the repository id, so that no
 * folder becomes too large.
 */
const SHARDS = 256

/** Returns the key of a file. */
export function attachmentKey(repositoryId: number, uuid: string): string {
  return `${attachmentPrefix(repositoryId)}${uuid}`
}

/** Returns the beginning of the keys of all files of a repository. */
export function attachmentPrefix(repositoryId: number): string {
  return `${ATTACHMENT_KEYS}${repositoryId}/`
}

/** Returns what a key names; undefined for a key of another kind. */
export function filePlaceOf(key: string): FilePlace | undefined {
  const { id, name } = KEY.exec(key)?.groups ?? {}
  return name ? { repositoryId: Number(id), uuid: name } : undefined
}

/** The form of keys and prefixes of repositories. */
const KEY = /^attachments\/(?<id>[1-9]\d{0,15})\/(?<name>[^/]*)$/
const PATH = /^attachments\/[0-9a-f]{2}\/(?<id>[1-9]\d{0,15})\/(?<name>[^/]+)$/

/** The keys of contents of Git LFS, which are their paths too: `lfs/ab/cd/<oid>`. */
const LFS_PATH = /^lfs\/[0-9a-f]{2}\/[0-9a-f]{2}\/(?<oid>[0-9a-f]{64})$/

/**
 * A draft of an earlier version, whose drafts were beside the contents. No row leads to a draft, so that
 * `doctor` finds it. Drafts of this version are in `lfs/incoming` and `attachments/incoming`.
 */
const LFS_DRAFT_PATH = /^lfs\/[0-9a-f]{2}\/[0-9a-f]{2}\/[0-9a-f]{64}\.[0-9a-f-]{36}\.part$/

/** Returns the SHA-256 of a content of Git LFS; undefined for a key of another kind. */
export function lfsOidOf(key: string): string | undefined {
  return LFS_PATH.exec(key)?.groups?.oid
}

/** The paths of objects in the data folder: `attachments/<two digits>/<repository>/<uuid>`. */
export const DATA_FOLDER_LAYOUT: FolderLayout = {
  folders: ['attachments', 'lfs'],
  pathOf(key) {
    const { id, name } = KEY.exec(key)?.groups ?? {}
    if (id === undefined) return key
    const shard = (Number(id) % SHARDS).toString(16).padStart(2, '0')
    return `${ATTACHMENT_KEYS}${shard}/${id}/${name}`
  },
  keyOf(path) {
    if (LFS_PATH.test(path) || LFS_DRAFT_PATH.test(path)) return path
    const { id, name } = PATH.exec(path)?.groups ?? {}
    return id === undefined ? undefined : `${ATTACHMENT_KEYS}${id}/${name}`
  },
}
