import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  type AnnotatedTag,
  AnnotatedTagSchema,
  type GitBlob,
  GitBlobSchema,
  type GitObject,
  GitObjectSchema,
  type GitTreeEntry,
  GitTreeEntrySchema,
  type Reference,
  ReferenceSchema,
} from '#gen/branchline/v1/git_object_pb.ts'
import { GitObjectService } from '#gen/branchline/v1/git_object_service_pb.ts'
import type { App } from '../../app.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import type { OpenRepository } from '../access/permissions.ts'
import { commitUser, verificationMessage } from '../commits/commit.service.ts'
import { encodePath, gitUrls } from '../lifecycle/repository.message.ts'
import {
  type AnnotatedTagView,
  type BlobView,
  getAnnotatedTag,
  getGitBlob,
  getGitTree,
  listGitRefs,
  type RefView,
  type TreeView,
} from './git-objects.ts'

/** The default and maximum page size of a tree, as in compatible systems. */
export const MAX_TREE_ENTRIES = 1000

/** Implements GitObjectService. */
function gitObjectService(app: App): ServiceImpl<typeof GitObjectService> {
  return {
    async listGitRefs({ owner, repo, prefix }, context) {
      const { open, exact, refs } = await listGitRefs(
        app,
        callerOf(context),
        { owner, repo },
        prefix,
      )
      if (exact) return { ref: referenceMessage(app, open, exact) }
      return { refs: refs.map((ref) => referenceMessage(app, open, ref)) }
    },

    async getGitTree({ owner, repo, sha, recursive, page, perPage }, context) {
      const limit = perPage < 1 ? MAX_TREE_ENTRIES : Math.min(perPage, MAX_TREE_ENTRIES)
      const number = Math.max(page, 1)
      const offset = (number - 1) * limit
      const view = await getGitTree(app, callerOf(context), { owner, repo }, sha, {
        recursive,
        offset,
        limit,
      })
      return {
        sha: view.treeId,
        url: gitUrls(app, view.open).api(`/git/trees/${view.treeId}`),
        tree: view.entries.map((entry) => treeEntryMessage(app, view, entry)),
        truncated: offset + limit < view.total,
        page: number,
        totalCount: view.total,
      }
    },

    async getGitBlob({ owner, repo, sha }, context) {
      return blobMessage(app, await getGitBlob(app, callerOf(context), { owner, repo }, sha))
    },

    async getAnnotatedTag({ owner, repo, sha }, context) {
      return tagMessage(app, await getAnnotatedTag(app, callerOf(context), { owner, repo }, sha))
    },
  }
}

function referenceMessage(app: App, open: OpenRepository, { name, id, type }: RefView): Reference {
  const url = gitUrls(app, open).api(`/git/${encodePath(name)}`)
  return create(ReferenceSchema, { ref: name, url, object: objectMessage(app, open, type, id) })
}

/** Returns the reference to an object. */
function objectMessage(app: App, open: OpenRepository, type: string, id: string): GitObject {
  return create(GitObjectSchema, {
    type,
    sha: id,
    url: gitUrls(app, open).api(`/git/${type}s/${id}`),
  })
}

function treeEntryMessage(
  app: App,
  { open, sizes }: TreeView,
  entry: TreeView['entries'][number],
): GitTreeEntry {
  const type = entry.kind === 'dir' ? 'tree' : entry.kind === 'submodule' ? 'commit' : 'blob'
  return create(GitTreeEntrySchema, {
    path: entry.path,
    mode: entry.mode.toString(8).padStart(6, '0'),
    type,
    size: BigInt(sizes.get(entry.id) ?? 0),
    sha: entry.id,
    url: type === 'commit' ? '' : gitUrls(app, open).api(`/git/${type}s/${entry.id}`),
  })
}

function blobMessage(app: App, { open, id, bytes, content }: BlobView): GitBlob {
  return create(GitBlobSchema, {
    ...(content && { content: content.toString('base64'), encoding: 'base64' }),
    url: gitUrls(app, open).api(`/git/blobs/${id}`),
    sha: id,
    size: BigInt(bytes),
  })
}

function tagMessage(app: App, { open, tag, verification }: AnnotatedTagView): AnnotatedTag {
  return create(AnnotatedTagSchema, {
    tag: tag.name,
    sha: tag.id,
    url: gitUrls(app, open).api(`/git/tags/${tag.id}`),
    message: tag.message,
    ...(tag.tagger && { tagger: commitUser(tag.tagger) }),
    object: objectMessage(app, open, tag.target.type, tag.target.id),
    verification: verificationMessage(verification),
  })
}

export const gitObjects = defineService(GitObjectService, gitObjectService)
