import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  GpgKeyEmailSchema,
  type GpgKey as GpgKeyMessage,
  GpgKeySchema,
} from '#gen/branchline/v1/gpg_key_pb.ts'
import { GpgKeyService } from '#gen/branchline/v1/gpg_key_service_pb.ts'
import type { App } from '../../app.ts'
import { signedIn } from '../../core/access.ts'
import type { Page } from '../../core/names.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { readNumberedPage } from '../../core/wire/pages.ts'
import { atSecond } from '../../core/wire/times.ts'
import { requireConfirmed } from '../credentials/confirmation.ts'
import {
  addGpgKey,
  deleteGpgKey,
  type GpgKey,
  type GpgKeyPage,
  type GpgKeyView,
  getGpgKey,
  gpgKeyToken,
  listMyGpgKeys,
  listUserGpgKeys,
  verifyGpgKey,
} from './gpg-keys.ts'
import { KEY_FLAGS } from './openpgp.ts'

/** Implements GpgKeyService. */
function gpgKeyService(app: App): ServiceImpl<typeof GpgKeyService> {
  return {
    async listMyGpgKeys(request, context) {
      const page = readNumberedPage(app.settings, request)
      return listMessage(await listMyGpgKeys(app, signedIn(callerOf(context)), page), page)
    },

    async listUserGpgKeys(request, context) {
      const page = readNumberedPage(app.settings, request)
      return listMessage(
        await listUserGpgKeys(app, callerOf(context), request.username, page),
        page,
      )
    },

    async createGpgKey({ armoredPublicKey, armoredSignature, currentPassword }, context) {
      const caller = signedIn(callerOf(context))
      await requireConfirmed(app, caller, { currentPassword })
      const draft = { armoredPublicKey, armoredSignature }
      return keyWithSubkeysMessage(await addGpgKey(app, caller, draft))
    },

    async getGpgKey({ id }, context) {
      return keyWithSubkeysMessage(await getGpgKey(app, signedIn(callerOf(context)), id))
    },

    async deleteGpgKey({ id }, context) {
      await deleteGpgKey(app, signedIn(callerOf(context)), id)
      return {}
    },

    async getGpgKeyToken(_, context) {
      const token = gpgKeyToken(app, signedIn(callerOf(context)).user)
      return { contentType: 'text/plain; charset=utf-8', data: Buffer.from(token) }
    },

    async verifyGpgKey({ keyId, armoredSignature }, context) {
      return keyWithSubkeysMessage(
        await verifyGpgKey(app, signedIn(callerOf(context)), keyId, armoredSignature),
      )
    },
  }
}

function listMessage({ keys, total }: GpgKeyPage, { limit }: Page) {
  return { keys: keys.map(keyWithSubkeysMessage), total: BigInt(total), limit }
}

function keyWithSubkeysMessage({ key, subkeys, emails }: GpgKeyView): GpgKeyMessage {
  const message = keyMessage(key, '')
  message.emails = emails.map((email) => create(GpgKeyEmailSchema, email))
  message.subkeys = subkeys.map((subkey) => keyMessage(subkey, key.key_id))
  return message
}

function keyMessage(key: GpgKey, primaryKeyId: string): GpgKeyMessage {
  const may = (flag: number) => (key.flags & flag) !== 0
  return create(GpgKeySchema, {
    id: BigInt(key.id),
    primaryKeyId,
    keyId: key.key_id,
    publicKey: key.packet,
    canSign: may(KEY_FLAGS.sign),
    canEncryptComms: may(KEY_FLAGS.encryptComms),
    canEncryptStorage: may(KEY_FLAGS.encryptStorage),
    canCertify: may(KEY_FLAGS.certify),
    verified: key.verified === 1,
    createdAt: atSecond(key.create_time),
    expiresAt: atSecond(key.expire_time ?? 0),
  })
}

export const gpgKeys = defineService(GpgKeyService, gpgKeyService)
