import type { DescMethod } from '@bufbuild/protobuf'
import { getOption } from '@bufbuild/protobuf'
import { Audience, access } from '#gen/branchline/access/v1/access_pb.ts'
import type { Operation, SecurityScheme } from './document.ts'

/** The ways to send credentials. */
export const securitySchemes: Readonly<Record<string, SecurityScheme>> = {
  basic: {
    type: 'http',
    scheme: 'basic',
    description: 'Username, and a password or a personal access token.',
  },
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'Access token of a session, or a personal access token.',
  },
}

/** The access option of a method as described to clients. */
export interface DocumentedAccess {
  readonly security: Operation['security']
  /** A sentence about tokens. Empty if there is none. */
  readonly note: string
}

/**
 * Reads the access option of a method. On a private instance, PUBLIC methods require credentials.
 */
export function documentAccess(method: DescMethod, isPrivateInstance: boolean): DocumentedAccess {
  const { audience, scope, sessionOnly, ignoresCredentials, passwordOnly } = getOption(
    method,
    access,
  )
  if (ignoresCredentials) return { security: [], note: '' }
  if (passwordOnly)
    return {
      security: [{ basic: [] }],
      note: 'Only the password of the account is accepted, by Basic authentication.',
    }
  const isAnonymous =
    audience === Audience.ALWAYS_PUBLIC || (audience === Audience.PUBLIC && !isPrivateInstance)
  const scopes = scope === '' ? [] : scope.split(' ')
  const security = [{ bearer: scopes }, { basic: scopes }, ...(isAnonymous ? [{}] : [])]
  if (sessionOnly) return { security, note: 'Personal access tokens are not accepted.' }
  const named = scopes.map((name) => `\`${name}\``).join(' and ')
  const noun = scopes.length > 1 ? 'scopes' : 'scope'
  return { security, note: scope === '' ? '' : `Personal access tokens need the ${noun} ${named}.` }
}
