import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { type Repository as RepositoryMessage, RepositorySchema } from '#gen/branchline/v1/repository_pb.ts'
import type { RepositoryService } from '#gen/branchline/v1/repository_service_pb.ts'
import { signedIn } from '../domain/access.ts'
import { getUser } from '../domain/accounts/users.ts'
import type { App } from '../domain/app.ts'
import { suffices } from '../domain/repos/permissions.ts'
import {
  createRepository,
  deleteRepository,
  editRepository,
  getRepository,
  listRepositories,
  type RepositoryPage,
  type RepositoryView,
} from '../domain/repos/repositories.ts'
import { callerOf } from './call.ts'
import { readNumberedPage } from './pages.ts'
import { avatarUrl } from './users.ts'

/** Implements RepositoryService. */
export function repositoryService(app: App): ServiceImpl<typeof RepositoryService> {
  const listMessage = ({ repositories, total }: RepositoryPage, limit: number) => ({
    repositories: repositories.map((view) => repositoryMessage(app, view)),
    total: BigInt(total),
    limit,
  })
  return {
    async createUserRepository(request, context) {
      return repositoryMessage(app, await createRepository(app, signedIn(callerOf(context)), request))
    },

    async getRepository({ owner, repo }, context) {
      return repositoryMessage(app, await getRepository(app, callerOf(context), owner, repo))
    },

    async listMyRepositories(request, context) {
      const caller = signedIn(callerOf(context))
      const { offset, limit } = readNumberedPage(request)
      return listMessage(await listRepositories(app, caller, caller.user, offset, limit), limit)
    },

    async listUserRepositories(request, context) {
      const owner = await getUser(app, request.username)
      const { offset, limit } = readNumberedPage(request)
      return listMessage(await listRepositories(app, callerOf(context), owner, offset, limit), limit)
    },

    async editRepository(request, context) {
      const { owner, repo, name, description, website, defaultBranch, archived } = request
      const edit = { name, description, website, private: request.private, defaultBranch, archived }
      return repositoryMessage(app, await editRepository(app, callerOf(context), owner, repo, edit))
    },

    async deleteRepository({ owner, repo }, context) {
      await deleteRepository(app, callerOf(context), owner, repo)
      return {}
    },
  }
}

/** A repository as a caller sees it. */
function repositoryMessage(app: App, { repository, owner, access, branchCount }: RepositoryView): RepositoryMessage {
  const fullName = `${owner.username}/${repository.name}`
  const base = app.publicUrl()
  return create(RepositorySchema, {
    id: BigInt(repository.id),
    owner: {
      id: BigInt(owner.id),
      login: owner.username,
      username: owner.username,
      fullName: owner.display_name,
      avatarUrl: avatarUrl(owner),
    },
    name: repository.name,
    fullName,
    description: repository.description,
    website: repository.website,
    empty: branchCount === 0,
    private: repository.private === 1,
    archived: repository.archive_time !== null,
    defaultBranch: repository.default_branch,
    branchCount: BigInt(branchCount),
    createdAt: timestampFromMs(repository.create_time * 1000),
    updatedAt: timestampFromMs(repository.update_time * 1000),
    archivedAt: timestampFromMs((repository.archive_time ?? 0) * 1000),
    permissions: {
      admin: suffices(access, 'admin'),
      push: suffices(access, 'write'),
      pull: suffices(access, 'read'),
    },
    url: `${base}/api/v1/repos/${fullName}`,
    htmlUrl: `${base}/${fullName}`,
    cloneUrl: `${base}/${fullName}.git`,
    objectFormatName: 'sha1',
  })
}
