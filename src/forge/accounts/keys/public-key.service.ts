import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import type { Account } from '#gen/branchline/v1/account_pb.ts'
import {
  type PublicKey as PublicKeyMessage,
  PublicKeySchema,
} from '#gen/branchline/v1/public_key_pb.ts'
import { PublicKeyService } from '#gen/branchline/v1/public_key_service_pb.ts'
import type { App } from '../../app.ts'
import { type Caller, signedIn } from '../../core/access.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { readNumberedPage } from '../../core/wire/pages.ts'
import { atSecond } from '../../core/wire/times.ts'
import { requireConfirmed } from '../credentials/confirmation.ts'
import type { Owner } from '../schema.ts'
import { accountMessage, NEVER } from '../users/accounts.message.ts'
import { getOwner, seesPrivateFieldsOf, userAsOwner } from '../users/owners.ts'
import {
  addPublicKey,
  deletePublicKey,
  getPublicKey,
  listPublicKeys,
  type PublicKey,
} from './public-keys.ts'

/** Implements PublicKeyService. */
function publicKeyService(app: App): ServiceImpl<typeof PublicKeyService> {
  type ListRequest = { fingerprint: string; page: number; limit: number }
  const list = async (caller: Caller, owner: Owner, request: ListRequest) => {
    const page = readNumberedPage(app.settings, request)
    const { keys, total } = await listPublicKeys(app, owner, request.fingerprint, page)
    const user = seesPrivateFieldsOf(caller, owner) ? accountMessage(app, caller, owner) : undefined
    return {
      keys: keys.map((key) => publicKeyMessage(app, key, user)),
      total: BigInt(total),
      limit: page.limit,
    }
  }
  return {
    listMyPublicKeys(request, context) {
      const caller = signedIn(callerOf(context))
      return list(caller, userAsOwner(caller.user), request)
    },

    async listUserPublicKeys(request, context) {
      const caller = callerOf(context)
      return list(caller, await getOwner(app, caller, request.username), request)
    },

    async createPublicKey({ title, key, readOnly, currentPassword }, context) {
      const caller = signedIn(callerOf(context))
      await requireConfirmed(app, caller, { currentPassword })
      const made = await addPublicKey(app, caller.user, { title, key, readOnly })
      return publicKeyMessage(app, made, accountMessage(app, caller, userAsOwner(caller.user)))
    },

    async getPublicKey({ id }, context) {
      const caller = signedIn(callerOf(context))
      const { key, owner } = await getPublicKey(app, caller, id)
      return publicKeyMessage(app, key, accountMessage(app, caller, userAsOwner(owner)))
    },

    async deletePublicKey({ id }, context) {
      await deletePublicKey(app, signedIn(callerOf(context)), id)
      return {}
    },
  }
}

/**
 * Returns the message of an SSH key.
 *
 * @param user the owner, with the fields that only the owner and administrators see; undefined for
 *   other viewers.
 */
export function publicKeyMessage(
  app: App,
  key: PublicKey,
  user: Account | undefined,
): PublicKeyMessage {
  return create(PublicKeySchema, {
    id: BigInt(key.id),
    key: key.line,
    url: `${app.publicUrl()}/api/v1/user/keys/${key.id}`,
    title: key.title,
    fingerprint: key.fingerprint,
    createdAt: atSecond(key.create_time),
    lastUsedAt: key.last_used_time === null ? NEVER : atSecond(key.last_used_time),
    ...(user && { user, readOnly: key.read_only === 1, keyType: 'user' }),
  })
}

export const publicKeys = defineService(PublicKeyService, publicKeyService)
