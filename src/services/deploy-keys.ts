import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import { type DeployKey as DeployKeyMessage, DeployKeySchema } from '#gen/branchline/v1/deploy_key_pb.ts'
import type { DeployKeyService } from '#gen/branchline/v1/deploy_key_service_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import type { Caller } from '../domain/access.ts'
import type { App } from '../domain/app.ts'
import {
  addDeployKey,
  type DeployKey,
  deleteDeployKey,
  getDeployKey,
  listDeployKeys,
} from '../domain/repos/deploy-keys.ts'
import type { OpenRepository } from '../domain/repos/permissions.ts'
import { viewRepository } from '../domain/repos/repository-views.ts'
import { callerOf } from './call.ts'
import { readNumberedPage } from './pages.ts'
import { repositoryMessage } from './repository-message.ts'
import { atSecond } from './times.ts'

/** Implements DeployKeyService. */
export function deployKeyService(app: App): ServiceImpl<typeof DeployKeyService> {
  const viewedRepository = async (caller: Caller, opened: OpenRepository) =>
    repositoryMessage(app, caller, await viewRepository(app, caller, opened))
  return {
    async listDeployKeys({ owner, repo, keyId, fingerprint, ...page }, context) {
      const { offset, limit } = readNumberedPage(app.settings, page)
      const filter = { keyId: Number(keyId), fingerprint }
      const caller = callerOf(context)
      const listed = await listDeployKeys(app, caller, owner, repo, filter, offset, limit)
      const repository = await viewedRepository(caller, listed)
      const keys = listed.keys.map((key) => deployKeyMessage(key, repository))
      return { keys, total: BigInt(listed.total), limit }
    },

    async createDeployKey({ owner, repo, title, key, readOnly }, context) {
      const caller = callerOf(context)
      const added = await addDeployKey(app, caller, owner, repo, { title, key, readOnly })
      return deployKeyMessage(added.key, await viewedRepository(caller, added))
    },

    async getDeployKey({ owner, repo, id }, context) {
      const caller = callerOf(context)
      const found = await getDeployKey(app, caller, owner, repo, id)
      return deployKeyMessage(found.key, await viewedRepository(caller, found))
    },

    async deleteDeployKey({ owner, repo, id }, context) {
      await deleteDeployKey(app, callerOf(context), owner, repo, id)
      return {}
    },
  }
}

function deployKeyMessage(key: DeployKey, repository: Repository): DeployKeyMessage {
  return create(DeployKeySchema, {
    id: BigInt(key.id),
    keyId: BigInt(key.key_id),
    key: key.line,
    url: `${repository.url}/keys/${key.id}`,
    title: key.title,
    fingerprint: key.fingerprint,
    createdAt: atSecond(key.create_time),
    readOnly: key.read_only === 1,
    repository,
  })
}
