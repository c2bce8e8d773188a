import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  type DeployKey as DeployKeyMessage,
  DeployKeySchema,
} from '#gen/branchline/v1/deploy_key_pb.ts'
import { DeployKeyService } from '#gen/branchline/v1/deploy_key_service_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { NEVER } from '../../accounts/users/accounts.message.ts'
import type { App } from '../../app.ts'
import type { Caller } from '../../core/access.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { readNumberedPage } from '../../core/wire/pages.ts'
import { atSecond } from '../../core/wire/times.ts'
import { repositoryMessage } from '../lifecycle/repository.message.ts'
import { viewRepository } from '../lifecycle/repository-views.ts'
import {
  addDeployKey,
  type DeployKey,
  deleteDeployKey,
  getDeployKey,
  listDeployKeys,
} from './deploy-keys.ts'
import type { OpenRepository } from './permissions.ts'

/** Implements DeployKeyService. */
function deployKeyService(app: App): ServiceImpl<typeof DeployKeyService> {
  const viewedRepository = async (caller: Caller, opened: OpenRepository) =>
    repositoryMessage(app, caller, await viewRepository(app, caller, opened))
  return {
    async listDeployKeys({ owner, repo, keyId, fingerprint, ...request }, context) {
      const page = readNumberedPage(app.settings, request)
      const filter = { keyId: Number(keyId), fingerprint }
      const caller = callerOf(context)
      const listed = await listDeployKeys(app, caller, { owner, repo }, filter, page)
      const repository = await viewedRepository(caller, listed)
      const keys = listed.keys.map((key) => deployKeyMessage(key, repository))
      return { keys, total: BigInt(listed.total), limit: page.limit }
    },

    async createDeployKey({ owner, repo, title, key, readOnly }, context) {
      const caller = callerOf(context)
      const added = await addDeployKey(app, caller, { owner, repo }, { title, key, readOnly })
      return deployKeyMessage(added.key, await viewedRepository(caller, added))
    },

    async getDeployKey({ owner, repo, id }, context) {
      const caller = callerOf(context)
      const found = await getDeployKey(app, caller, { owner, repo }, id)
      return deployKeyMessage(found.key, await viewedRepository(caller, found))
    },

    async deleteDeployKey({ owner, repo, id }, context) {
      await deleteDeployKey(app, callerOf(context), { owner, repo }, id)
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
    lastUsedAt: key.last_used_time === null ? NEVER : atSecond(key.last_used_time),
    repository,
  })
}

export const deployKeys = defineService(DeployKeyService, deployKeyService)
