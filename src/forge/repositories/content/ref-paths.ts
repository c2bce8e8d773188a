import { isObjectId } from '../../../platform/git/core/object-ids.ts'
import { isRefName, readRefs } from '../../../platform/git/refs/refs.ts'
import type { ReposApp } from '../ports.ts'
import type { Repository } from '../schema.ts'
import { findCommitId, notFound } from './git-reading.ts'

/** A revision, and a path in its tree. An empty revision is the default branch. */
export interface RefPath {
  readonly ref: string
  readonly path: string
}

export type RefKind = 'branch' | 'tag'

const PREFIXES = { branch: 'refs/heads/', tag: 'refs/tags/' } as const

/** Components of a path that may belong to the name of a ref. Each is looked up. */
const MAX_REF_COMPONENTS = 32

/**
 * Divides a text of a client, `{ref}/{path}`, both of which may contain slashes.
 *
 * The ref is the shortest beginning of the text that is a branch, or else a tag, or else a full id
 * of a commit, `HEAD` or a full ref name. Without one, the whole text is a path in the default
 * branch. Compatible systems have the same rule (`getRefName` in context/repo.go of Gitea).
 *
 * @param kind set if the ref is known to be a branch or a tag
 */
export async function splitRefPath(
  app: ReposApp,
  repository: Repository,
  text: string,
  kind?: RefKind,
): Promise<RefPath> {
  const splits = splitsOf(text)
  const prefixes = kind ? [PREFIXES[kind]] : [PREFIXES.branch, PREFIXES.tag, '']
  for (const prefix of prefixes) {
    const named = splits.filter(({ ref }) => prefix !== '' || ref.startsWith('refs/'))
    const names = named.map(({ ref }) => prefix + ref).filter(isPublicName)
    const ids = await readRefs(app.git, repository.id, names)
    const found = named.find(({ ref }) => ids.has(prefix + ref))
    if (found) return { ref: prefix + found.ref, path: found.path }
  }
  if (kind) throw notFound('REF_NOT_FOUND', 'ref', text)
  const [first] = splits
  if (first?.ref === 'HEAD') return { ref: '', path: first.path }
  if (first && isObjectId(first.ref) && (await findCommitId(app, repository, first.ref)))
    return first
  return { ref: '', path: text }
}

/** Refs outside of branches and tags, such as those of the server, have no files. */
function isPublicName(name: string): boolean {
  return /^refs\/(?:heads|tags)\/./.test(name) && isRefName(name)
}

/** Returns all ways to divide a text at a slash, without an empty part, shortest ref first. */
function splitsOf(text: string): RefPath[] {
  const components = text.split('/', MAX_REF_COMPONENTS + 1)
  const splits: RefPath[] = []
  for (let end = 1; end < components.length; end++) {
    const ref = components.slice(0, end).join('/')
    const path = text.slice(ref.length + 1)
    if (ref !== '' && path !== '') splits.push({ ref, path })
  }
  return splits
}
