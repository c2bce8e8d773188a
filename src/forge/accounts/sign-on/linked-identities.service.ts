import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  type LinkedIdentity as LinkedIdentityMessage,
  LinkedIdentitySchema,
} from '#gen/branchline/v1/linked_identity_pb.ts'
import type { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import type { App } from '../../app.ts'
import { signedIn } from '../../core/access.ts'
import type { User } from '../../core/schema.ts'
import { callerOf, ownerOf } from '../../core/wire/call.ts'
import {
  invalidName,
  parseIdentityProviderName,
  parseOwnedName,
  userName,
} from '../../core/wire/names.ts'
import { requireConfirmed } from '../credentials/confirmation.ts'
import { identityProviderName } from './identity-providers.ts'
import {
  getLinkedIdentity,
  type LinkedIdentity,
  linkIdentity,
  listLinkedIdentities,
  unlinkIdentity,
} from './linked-identities.ts'

/** The part after the owner in the name of an identity: the uid of a provider. */
const IDENTITY_PATH = /^linkedIdentities\/([\w-]{1,64})$/

type Methods = Pick<
  ServiceImpl<typeof UserService>,
  'listLinkedIdentities' | 'createLinkedIdentity' | 'getLinkedIdentity' | 'deleteLinkedIdentity'
>

/** Implements the methods of UserService about identities at identity providers. */
export function linkedIdentityMethods(app: App): Methods {
  return {
    async listLinkedIdentities(_, context) {
      const owner = ownerOf(context)
      const identities = await listLinkedIdentities(app, owner)
      return {
        linkedIdentities: identities.map((identity) => linkedIdentityMessage(owner, identity)),
      }
    },

    async createLinkedIdentity({ idpName, code, redirectUri, codeVerifier }, context) {
      const owner = ownerOf(context)
      const providerUid = parseIdentityProviderName(idpName)
      await requireConfirmed(app, signedIn(callerOf(context)))
      const grant = { code, redirectUri, codeVerifier }
      return linkedIdentityMessage(
        owner,
        await linkIdentity(app, owner, providerUid, grant, context.signal),
      )
    },

    async getLinkedIdentity({ name }, context) {
      const owner = ownerOf(context)
      return linkedIdentityMessage(
        owner,
        await getLinkedIdentity(app, owner, parseProviderUid(name)),
      )
    },

    async deleteLinkedIdentity({ name }, context) {
      await unlinkIdentity(app, ownerOf(context), parseProviderUid(name))
      return {}
    },
  }
}

/** @throws INVALID_NAME if the name is not that of an identity. */
function parseProviderUid(name: string): string {
  const [, uid] = IDENTITY_PATH.exec(parseOwnedName(name).rest) ?? []
  if (uid === undefined) throw invalidName(name)
  return uid
}

function linkedIdentityMessage(
  owner: User,
  { provider_uid, extern_uid }: LinkedIdentity,
): LinkedIdentityMessage {
  return create(LinkedIdentitySchema, {
    name: `${userName(owner)}/linkedIdentities/${provider_uid}`,
    idpName: identityProviderName(provider_uid),
    externUid: extern_uid,
  })
}
