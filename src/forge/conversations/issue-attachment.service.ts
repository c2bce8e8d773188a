import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import { IssueAttachmentService } from '#gen/branchline/v1/issue_attachment_service_pb.ts'
import type { App } from '../app.ts'
import { signedIn } from '../core/access.ts'
import { callerOf } from '../core/wire/call.ts'
import { defineService } from '../core/wire/define-service.ts'
import { readUpload, type UploadedFile } from '../core/wire/uploads.ts'
import {
  attachmentMessage,
  downloadRequestOf,
  fileBodies,
  OCTETS,
} from '../repositories/attachments/attachment.message.ts'
import { downloadAttachment } from './attachment-downloads.ts'
import { uploadRules } from './attachment-rules.ts'
import {
  type AttachmentPlace,
  addAttachment,
  deleteAttachment,
  getAttachment,
  listAttachments,
  renameAttachment,
} from './attachments.ts'
import { addUnlinkedUpload } from './unlinked-uploads.ts'

/** How long browsers may show a file again without asking. The file may be deleted meanwhile. */
const MAX_AGE_SECONDS = 300

/** Implements IssueAttachmentService. */
function issueAttachmentService(app: App): ServiceImpl<typeof IssueAttachmentService> {
  return {
    ...conversationMethods(app),
    ...commentMethods(app),

    async createIssueUpload(requests, context) {
      const caller = signedIn(callerOf(context))
      return readUpload(requests, uploadRules(app), async ({ owner, repo, name }, file) => {
        const read = () => named(name, file)
        return attachmentMessage(app, await addUnlinkedUpload(app, caller, { owner, repo }, read))
      })
    },

    async *downloadAttachment({ uuid, owner, repo }, context) {
      const { shownType, isAsset, ...download } = await downloadAttachment(
        app,
        callerOf(context),
        uuid,
        owner === '' && repo === '' ? undefined : { owner, repo },
        downloadRequestOf(context, uuid),
      )
      const isText = shownType?.startsWith('text/')
      const contentType = isText ? `${shownType}; charset=utf-8` : (shownType ?? OCTETS)
      const treatment = { contentType, disposition: shownType ? 'inline' : 'attachment' } as const
      for await (const body of fileBodies(context, download, treatment)) {
        if (!isAsset && !download.redirect) setAttachmentHeaders(context)
        yield body
      }
    },
  }
}

/** Sets the headers in which attachments differ from other files. */
function setAttachmentHeaders({ responseHeader }: HandlerContext): void {
  responseHeader.set('content-security-policy', "sandbox; default-src 'none'")
  responseHeader.set('cache-control', `private, max-age=${MAX_AGE_SECONDS}`)
}

/** A request about the attachments of an issue or a pull request. */
interface OfConversation {
  readonly owner: string
  readonly repo: string
  readonly index: bigint
}

type ConversationMethod = `${'create' | 'get' | 'edit' | 'delete'}IssueAttachment`

function conversationMethods(
  app: App,
): Pick<ServiceImpl<typeof IssueAttachmentService>, ConversationMethod | 'listIssueAttachments'> {
  const placeOf = ({ owner, repo, index }: OfConversation) => ({
    owner,
    repo,
    number: Number(index),
  })
  const methods = placeMethods(app)
  return {
    listIssueAttachments: (request, context) => methods.list(placeOf(request), context),
    createIssueAttachment: (requests, context) =>
      readUpload(requests, uploadRules(app), (request, file) =>
        methods.create(placeOf(request), context, () => named(request.name, file)),
      ),
    getIssueAttachment: (request, context) => methods.get(placeOf(request), request.id, context),
    editIssueAttachment: (request, context) =>
      methods.edit(placeOf(request), request.id, request.name, context),
    deleteIssueAttachment: (request, context) =>
      methods.delete(placeOf(request), request.id, context),
  }
}

/** A request about the attachments of a comment. */
interface OfComment {
  readonly owner: string
  readonly repo: string
  readonly id: bigint
}

type CommentMethod = `${'create' | 'get' | 'edit' | 'delete'}IssueCommentAttachment`

function commentMethods(
  app: App,
): Pick<ServiceImpl<typeof IssueAttachmentService>, CommentMethod | 'listIssueCommentAttachments'> {
  const placeOf = ({ owner, repo, id }: OfComment) => ({ owner, repo, commentId: Number(id) })
  const methods = placeMethods(app)
  return {
    listIssueCommentAttachments: (request, context) => methods.list(placeOf(request), context),
    createIssueCommentAttachment: (requests, context) =>
      readUpload(requests, uploadRules(app), (request, file) =>
        methods.create(placeOf(request), context, () => named(request.name, file)),
      ),
    getIssueCommentAttachment: (request, context) =>
      methods.get(placeOf(request), request.aid, context),
    editIssueCommentAttachment: (request, context) =>
      methods.edit(placeOf(request), request.aid, request.name, context),
    deleteIssueCommentAttachment: (request, context) =>
      methods.delete(placeOf(request), request.aid, context),
  }
}

/** The methods of conversations and of comments. */
function placeMethods(app: App) {
  return {
    async list(place: AttachmentPlace, context: HandlerContext) {
      const found = await listAttachments(app, callerOf(context), place)
      return { attachments: found.map((attachment) => attachmentMessage(app, attachment)) }
    },
    async create(
      place: AttachmentPlace,
      context: HandlerContext,
      read: () => Promise<UploadedFile>,
    ) {
      const caller = signedIn(callerOf(context))
      return attachmentMessage(app, await addAttachment(app, caller, place, read))
    },
    async get(place: AttachmentPlace, id: bigint, context: HandlerContext) {
      const found = await getAttachment(app, callerOf(context), place, Number(id))
      return attachmentMessage(app, found)
    },
    async edit(place: AttachmentPlace, id: bigint, name: string, context: HandlerContext) {
      const caller = signedIn(callerOf(context))
      return attachmentMessage(app, await renameAttachment(app, caller, place, Number(id), name))
    },
    async delete(place: AttachmentPlace, id: bigint, context: HandlerContext) {
      await deleteAttachment(app, signedIn(callerOf(context)), place, Number(id))
      return {}
    },
  }
}

/** Starts reading an upload. A name in the request takes precedence over that of the form. */
async function named(name: string, file: () => Promise<UploadedFile>): Promise<UploadedFile> {
  const uploaded = await file()
  return { ...uploaded, name: name || uploaded.name }
}

export const issueAttachments = defineService(IssueAttachmentService, issueAttachmentService)
