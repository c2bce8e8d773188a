import { create, type MessageInitShape } from '@bufbuild/protobuf'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import {
  type ContentsResponse,
  ContentsResponseSchema,
  type FileCommit,
  FileCommitSchema,
} from '#gen/branchline/v1/content_pb.ts'
import {
  type BlameSchema,
  type CommitDates,
  ContentService,
  type DeleteFileRequest,
  type Identity,
} from '#gen/branchline/v1/content_service_pb.ts'
import type { App } from '../../app.ts'
import { signedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import { callerOf, restStatusKey } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import {
  hasFile,
  rangeOf,
  redirectMethodOf,
  setDownloadHeaders,
  setRedirect,
} from '../../core/wire/downloads.ts'
import { dispositionOf, httpBodies } from '../../core/wire/http-bodies.ts'
import { zonedTime } from '../../core/wire/times.ts'
import type { OpenRepository } from '../access/permissions.ts'
import { OCTETS } from '../attachments/attachment.message.ts'
import {
  commitMeta,
  commitUser,
  gitTime,
  treeMeta,
  verificationMessage,
} from '../commits/commit.service.ts'
import type { CommitView } from '../commits/commits.ts'
import { encodePath, gitUrls } from '../lifecycle/repository.message.ts'
import { type ArchiveFormat, getArchive } from './archives.ts'
import { type ChangedFiles, type CommitDraft, changeFiles, type Person } from './content-changes.ts'
import {
  type Blame,
  type EntryView,
  getBlame,
  getContents,
  getRawFile,
  lfsPointerOf,
  nameOf,
} from './contents.ts'
import { getEditorConfig } from './editorconfig.ts'
import type { FileChange } from './file-changes.ts'
import { listFilePaths } from './file-paths.ts'
import type { RefKind } from './ref-paths.ts'

export const content = defineService(ContentService, (app) => ({
  ...contentMethods(app),
  ...contentChangeMethods(app),
}))

/** The methods of ContentService that write. */
type ContentChangeMethods = Pick<
  ServiceImpl<typeof ContentService>,
  'createFile' | 'updateFile' | 'deleteFile' | 'changeFiles'
>

type CommonRequest = Pick<
  DeleteFileRequest,
  'owner' | 'repo' | 'message' | 'branch' | 'newBranch' | 'signoff' | 'forcePush'
> & {
  readonly author?: Identity | undefined
  readonly committer?: Identity | undefined
  readonly dates?: CommitDates | undefined
}

/** Implements the methods of ContentService that write. */
function contentChangeMethods(app: App): ContentChangeMethods {
  const change = (
    request: CommonRequest,
    context: HandlerContext,
    changes: readonly FileChange[],
  ) => changeFiles(app, signedIn(callerOf(context)), request, changes, draftOf(request))
  const commitMessages = ({ open, commit, verification }: ChangedFiles) => ({
    commit: fileCommitMessage(app, open, commit),
    verification: verificationMessage(verification),
  })
  const fileResponse = (changed: ChangedFiles) => {
    const [file] = changed.files
    return { ...(file && { content: contentsMessage(app, file) }), ...commitMessages(changed) }
  }
  return {
    async createFile(request, context) {
      const { path, content } = request
      return fileResponse(
        await change(request, context, [
          { operation: 'create', path, content, sha: '', fromPath: '' },
        ]),
      )
    },

    async updateFile(request, context) {
      const { path, content, sha, fromPath } = request
      const isMove = fromPath !== '' && fromPath !== path
      const operation = isMove ? 'rename' : sha === '' ? 'create' : 'update'
      const changed = await change(request, context, [{ operation, path, content, sha, fromPath }])
      if (operation === 'create') context.values.set(restStatusKey, 201)
      return fileResponse(changed)
    },

    async deleteFile(request, context) {
      const { path, sha } = request
      return fileResponse(
        await change(request, context, [
          { operation: 'delete', path, content: '', sha, fromPath: '' },
        ]),
      )
    },

    async changeFiles(request, context) {
      const changed = await change(request, context, request.files)
      const files = changed.files.flatMap((file) => (file ? contentsMessage(app, file) : []))
      return { files, ...commitMessages(changed) }
    },
  }
}

function draftOf({ author, committer, dates, ...request }: CommonRequest): CommitDraft {
  const { message, branch, newBranch, signoff, forcePush } = request
  return {
    message,
    branch,
    newBranch,
    signoff,
    forcePush,
    author: personOf('author', author, dates?.author),
    committer: personOf('committer', committer, dates?.committer),
  }
}

function personOf(field: string, identity: Identity | undefined, date = ''): Person {
  const at = date === '' ? undefined : zonedTime(date)
  if (date !== '' && !at) throw new DomainError('INVALID_FIELD', { field: `dates.${field}` })
  return { name: identity?.name ?? '', email: identity?.email ?? '', at }
}

/** The methods of ContentService that read. */
type ContentMethods = Pick<
  ServiceImpl<typeof ContentService>,
  'getContents' | 'listFilePaths' | 'getRawFile' | 'getEditorConfig' | 'getBlame' | 'getArchive'
>

const ARCHIVE_TYPES: Readonly<Record<ArchiveFormat, string>> = {
  'tar.gz': 'application/gzip',
  zip: 'application/zip',
  bundle: 'application/x-git-bundle',
}

/** Implements the methods of ContentService that read. */
function contentMethods(app: App): ContentMethods {
  return {
    async getContents({ owner, repo, path, ref }, context) {
      const contents = await getContents(app, callerOf(context), { owner, repo }, path, ref)
      if (contents.kind === 'entry') return { entry: contentsMessage(app, contents.entry) }
      const { entries, isTruncated } = contents
      if (isTruncated) context.responseHeader.set('x-truncated', 'true')
      return {
        entries: entries.map((entry) => contentsMessage(app, entry, true)),
        truncated: isTruncated,
      }
    },

    async *getRawFile({ owner, repo, path, ref, refPath, refKind, form }, context) {
      if (form !== '' && form !== 'media') throw new DomainError('INVALID_FIELD', { field: 'form' })
      const kind = readRefKind(refKind)
      const { name, blobId, bytes, isText, chunks, urlInStore } = await getRawFile(
        app,
        callerOf(context),
        { owner, repo },
        refPath === ''
          ? { ref, path }
          : ref === ''
            ? { text: refPath, kind }
            : { ref, path: refPath },
        form === 'media',
      )
      const entityTag = `"${blobId}"`
      const range = rangeOf(context, entityTag, bytes)
      const method = redirectMethodOf(context)
      if (urlInStore && method) {
        const disposition = dispositionOf('attachment', name)
        setRedirect(context, await urlInStore({ method, contentType: OCTETS, disposition }))
        yield { contentType: OCTETS }
        return
      }
      setDownloadHeaders(context, {
        disposition: isText ? 'inline' : 'attachment',
        name,
        entityTag,
        bytes,
        range,
      })
      yield* httpBodies(isText ? 'text/plain; charset=utf-8' : OCTETS, chunks(range))
    },

    async getEditorConfig({ owner, repo, path, ref }, context) {
      const properties = await getEditorConfig(
        app,
        callerOf(context),
        { owner, repo },
        {
          path,
          ref,
        },
      )
      return {
        charset: properties.get('charset') ?? '',
        indentStyle: properties.get('indent_style') ?? '',
        indentSize: properties.get('indent_size') ?? '',
        endOfLine: properties.get('end_of_line') ?? '',
        properties: Object.fromEntries(properties),
      }
    },

    async listFilePaths({ owner, repo, ref }, context) {
      const list = await listFilePaths(app, callerOf(context), { owner, repo }, ref)
      const { commitId: sha = '', paths, isTruncated: truncated } = list
      return { sha, paths: [...paths], truncated }
    },

    async getBlame({ owner, repo, path, ref, bypassIgnoreRevs: bypassesIgnoreFile }, context) {
      const asked = { path, ref, bypassesIgnoreFile }
      const blame = await getBlame(app, callerOf(context), { owner, repo }, asked)
      return blameMessage(app, blame)
    },

    async *getArchive({ owner, repo, archive, path, lfs }, context) {
      const { name, format, objectId, chunks } = await getArchive(
        app,
        callerOf(context),
        { owner, repo },
        { archive, path, lfs },
      )
      // A weak ETag, because another version of Git may compress the same files to different bytes.
      const entityTag = `W/"${objectId}"`
      setDownloadHeaders(context, {
        disposition: 'attachment',
        name,
        entityTag,
        bytes: undefined,
        range: undefined,
      })
      const contentType = ARCHIVE_TYPES[format]
      if (hasFile(context, entityTag)) yield { contentType }
      else yield* httpBodies(contentType, chunks)
    },
  }
}

function blameMessage(
  app: App,
  { open, ranges, commits, ignoreFile }: Blame,
): MessageInitShape<typeof BlameSchema> {
  const urls = gitUrls(app, open)
  return {
    ranges: ranges.map(({ commitId, startLine, lineCount }) => ({
      startLine,
      lineCount,
      sha: commitId,
    })),
    commits: commits.map(({ id, message, author }) => ({
      sha: id,
      subject: message.split('\n', 1)[0] ?? '',
      author: commitUser(author),
      htmlUrl: urls.html(`/commit/${id}`),
    })),
    usesIgnoreRevs: ignoreFile === 'used',
    faultyIgnoreRevs: ignoreFile === 'faulty',
  }
}

/**
 * Returns the message of a file, directory, symbolic link or submodule. In lists, the message has
 * no last commit.
 */
function contentsMessage(app: App, view: EntryView, isListed = false): ContentsResponse {
  const { open, commitId, ref, entry, bytes, content, submoduleUrl, lastCommit } = view
  const urls = gitUrls(app, open)
  const path = encodePath(entry.path)
  const url = urls.api(`/contents/${path}?ref=${encodeURIComponent(ref)}`)
  const htmlUrl = urls.html(`/src/commit/${commitId}/${path}`)
  const gitUrl = urls.api(`/git/${entry.kind === 'dir' ? 'trees' : 'blobs'}/${entry.id}`)
  const isBlob = entry.kind === 'file' || entry.kind === 'symlink'
  const lfs = lfsPointerOf(view)
  return create(ContentsResponseSchema, {
    name: nameOf(entry),
    path: entry.path,
    sha: entry.id,
    ...(lastCommit && {
      lastCommitSha: lastCommit.id,
      lastCommitterDate: gitTime(lastCommit.committer.time),
      lastAuthorDate: gitTime(lastCommit.author.time),
      lastCommitMessage: isListed ? '' : lastCommit.message,
    }),
    type: entry.kind,
    size: BigInt(bytes),
    ...(entry.kind === 'file' &&
      content && { encoding: 'base64', content: content.toString('base64') }),
    ...(entry.kind === 'symlink' && content && { target: content.toString() }),
    url,
    htmlUrl,
    gitUrl,
    ...(isBlob && { downloadUrl: urls.html(`/raw/commit/${commitId}/${path}`) }),
    ...(lfs && { lfsOid: lfs.oid, lfsSize: BigInt(lfs.bytes) }),
    ...(submoduleUrl !== undefined && { submoduleGitUrl: submoduleUrl }),
    Links: { self: url, git: gitUrl, html: htmlUrl },
  })
}

/** Returns the message of a commit that changed files. */
function fileCommitMessage(
  app: App,
  open: OpenRepository,
  commit: CommitView['commit'],
): FileCommit {
  const { url, sha, created } = commitMeta(app, open, commit.id, commit.committer.time)
  return create(FileCommitSchema, {
    url,
    sha,
    created,
    htmlUrl: gitUrls(app, open).html(`/commit/${sha}`),
    author: commitUser(commit.author),
    committer: commitUser(commit.committer),
    parents: commit.parentIds.map((id) => commitMeta(app, open, id)),
    message: commit.message,
    tree: treeMeta(app, open, commit.treeId, commit.committer.time),
  })
}

function readRefKind(text: string): RefKind | undefined {
  if (text === '') return undefined
  if (text === 'branch' || text === 'tag') return text
  throw new DomainError('INVALID_FIELD', { field: 'ref_kind' })
}
