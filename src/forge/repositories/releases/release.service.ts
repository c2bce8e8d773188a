import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import type { Release as ReleaseMessage } from '#gen/branchline/v1/release_pb.ts'
import {
  type CreateReleaseRequest,
  type EditReleaseRequest,
  ReleaseService,
} from '#gen/branchline/v1/release_service_pb.ts'
import { type AccountMessages, accountMessages } from '../../accounts/users/accounts.message.ts'
import type { App } from '../../app.ts'
import { type Caller, signedIn } from '../../core/access.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { readNumberedPage } from '../../core/wire/pages.ts'
import { atSecond } from '../../core/wire/times.ts'
import { readUpload } from '../../core/wire/uploads.ts'
import {
  attachmentMessage,
  downloadRequestOf,
  fileBodies,
  OCTETS,
} from '../attachments/attachment.message.ts'
import { encodePath, gitUrls } from '../lifecycle/repository.message.ts'
import {
  addAsset,
  assetRules,
  deleteAsset,
  download,
  getAsset,
  listAssets,
  openAssets,
  renameAsset,
} from './release-assets.ts'
import {
  createRelease,
  deleteRelease,
  deleteReleaseByTag,
  editRelease,
  getLatestRelease,
  getRelease,
  getReleaseByTag,
  listReleases,
  type ReleaseDraft,
  type ReleaseEdit,
  type ReleaseView,
} from './releases.ts'

/** Implements ReleaseService. */
function releaseService(app: App): ServiceImpl<typeof ReleaseService> {
  return { ...releaseMethods(app), ...assetMethods(app) }
}

type AssetMethod =
  | 'listReleaseAssets'
  | 'getReleaseAsset'
  | 'createReleaseAsset'
  | 'editReleaseAsset'
  | 'deleteReleaseAsset'
  | 'getAttachment'

function releaseMethods(app: App): Omit<ServiceImpl<typeof ReleaseService>, AssetMethod> {
  return {
    async listReleases(request, context) {
      const caller = callerOf(context)
      const page = readNumberedPage(app.settings, request)
      const { owner, repo, draft, preRelease: prerelease } = request
      const { releases, total } = await listReleases(
        app,
        caller,
        { owner, repo },
        { draft, prerelease },
        page,
      )
      return {
        releases: releaseMessages(app, caller, releases),
        total: BigInt(total),
        limit: page.limit,
      }
    },

    async getRelease({ owner, repo, id }, context) {
      const caller = callerOf(context)
      return releaseMessage(app, caller, await getRelease(app, caller, { owner, repo }, Number(id)))
    },

    async getLatestRelease({ owner, repo }, context) {
      const caller = callerOf(context)
      return releaseMessage(app, caller, await getLatestRelease(app, caller, { owner, repo }))
    },

    async getReleaseByTag({ owner, repo, tag }, context) {
      const caller = callerOf(context)
      return releaseMessage(app, caller, await getReleaseByTag(app, caller, { owner, repo }, tag))
    },

    async createRelease(request, context) {
      const caller = signedIn(callerOf(context))
      const { owner, repo } = request
      return releaseMessage(
        app,
        caller,
        await createRelease(app, caller, { owner, repo }, draftOf(request)),
      )
    },

    async editRelease(request, context) {
      const caller = signedIn(callerOf(context))
      const { owner, repo, id } = request
      return releaseMessage(
        app,
        caller,
        await editRelease(app, caller, { owner, repo }, Number(id), editOf(request)),
      )
    },

    async deleteRelease({ owner, repo, id }, context) {
      await deleteRelease(app, signedIn(callerOf(context)), { owner, repo }, Number(id))
      return {}
    },

    async deleteReleaseByTag({ owner, repo, tag }, context) {
      await deleteReleaseByTag(app, signedIn(callerOf(context)), { owner, repo }, tag)
      return {}
    },
  }
}

function assetMethods(app: App): Pick<ServiceImpl<typeof ReleaseService>, AssetMethod> {
  type OfRelease = { owner: string; repo: string; id: bigint }
  const open = ({ owner, repo, id }: OfRelease, context: HandlerContext) =>
    openAssets(app, signedIn(callerOf(context)), { owner, repo }, Number(id))

  return {
    async listReleaseAssets({ owner, repo, id }, context) {
      const assets = await listAssets(app, callerOf(context), { owner, repo }, Number(id))
      return { assets: assets.map((asset) => attachmentMessage(app, asset)) }
    },

    async getReleaseAsset({ owner, repo, id, asset }, context) {
      const found = await getAsset(
        app,
        callerOf(context),
        { owner, repo },
        Number(id),
        Number(asset),
      )
      return attachmentMessage(app, found)
    },

    async createReleaseAsset(requests, context) {
      return readUpload(requests, assetRules(app), async (request, file) => {
        const caller = signedIn(callerOf(context))
        const reopen = () => open(request, context)
        const release = await reopen()
        const { name, content } = await file()
        return attachmentMessage(
          app,
          await addAsset(app, caller, release, { name: request.name || name, content, reopen }),
        )
      })
    },

    async editReleaseAsset(request, context) {
      const caller = signedIn(callerOf(context))
      const release = await open(request, context)
      return attachmentMessage(
        app,
        await renameAsset(app, caller, release, Number(request.asset), request.name),
      )
    },

    async deleteReleaseAsset(request, context) {
      await deleteAsset(
        app,
        signedIn(callerOf(context)),
        await open(request, context),
        Number(request.asset),
      )
      return {}
    },

    async *getAttachment({ uuid }, context) {
      const caller = callerOf(context)
      const found = await download(app, caller, uuid, downloadRequestOf(context, uuid))
      const treatment = { contentType: OCTETS, disposition: 'attachment' } as const
      yield* fileBodies(context, found, treatment)
    },
  }
}

function draftOf(request: CreateReleaseRequest): ReleaseDraft {
  return {
    tagName: request.tagName,
    target: request.targetCommitish || request.target,
    title: request.name || request.title,
    note: request.body || request.note,
    isDraft: request.draft || request.isDraft,
    isPrerelease: request.prerelease || request.isPrerelease,
    tagMessage: request.tagMessage,
  }
}

function editOf(request: EditReleaseRequest): ReleaseEdit {
  return {
    tagName: request.tagName,
    target: request.targetCommitish || request.target,
    title: request.name || request.title,
    note: request.body || request.note,
    isDraft: request.draft ?? request.isDraft,
    isPrerelease: request.prerelease ?? request.isPrerelease,
  }
}

/** Returns the message of a release. */
export function releaseMessage(app: App, viewer: Caller, view: ReleaseView): ReleaseMessage {
  return messageWith(app, view, accountMessages(app, viewer))
}

function releaseMessages(
  app: App,
  viewer: Caller,
  views: readonly ReleaseView[],
): ReleaseMessage[] {
  const ofAccount = accountMessages(app, viewer)
  return views.map((view) => messageWith(app, view, ofAccount))
}

function messageWith(
  app: App,
  { open, release, publisher, assets }: ReleaseView,
  ofAccount: AccountMessages,
): ReleaseMessage {
  const urls = gitUrls(app, open)
  const url = urls.api(`/releases/${release.id}`)
  const archive = urls.html(`/archive/${encodeURIComponent(release.tag_name)}`)
  const time = atSecond(release.create_time)
  return {
    $typeName: 'branchline.v1.Release',
    id: BigInt(release.id),
    tagName: release.tag_name,
    originalAuthor: release.original_author,
    originalAuthorId: BigInt(release.original_author_id),
    targetCommitish: release.target,
    name: release.title,
    body: release.note,
    url,
    htmlUrl: urls.html(`/releases/tag/${encodePath(release.tag_name)}`),
    tarballUrl: `${archive}.tar.gz`,
    zipballUrl: `${archive}.zip`,
    uploadUrl: `${url}/assets`,
    draft: release.draft === 1,
    prerelease: release.prerelease === 1,
    createdAt: time,
    publishedAt: time,
    author: ofAccount(publisher),
    assets: assets.map((asset) => attachmentMessage(app, asset)),
  }
}

export const releases = defineService(ReleaseService, releaseService)
