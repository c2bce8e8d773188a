import type { DescMethod, JsonObject, JsonValue } from '@bufbuild/protobuf'
import { isObject } from './json.ts'
import { accessOf } from './method-facts.ts'

/** A call, as commands and programs repeat it. They read the token from the environment. */
export interface Example {
  readonly method: DescMethod
  readonly json: JsonObject
  /** The address of the server. */
  readonly origin: string
  readonly credentials: 'token' | 'password' | 'none'
}

/**
 * Returns the example of a call. Texts that look like secrets are replaced, since copied commands
 * stay in the histories of shells and in chats.
 */
export function exampleOf(
  method: DescMethod,
  json: JsonObject,
  caller: { readonly origin: string; readonly isSignedIn: boolean },
): Example {
  const { needsPassword, needsUser, ignoresCredentials } = accessOf(method)
  const hasToken = !ignoresCredentials && (caller.isSignedIn || needsUser)
  const credentials = needsPassword ? 'password' : hasToken ? 'token' : 'none'
  const safe = withoutSecrets(json)
  return { method, json: isObject(safe) ? safe : {}, origin: caller.origin, credentials }
}

/** Fields with secrets, in the spelling of JSON. The token of a page is none. */
const SECRET = /password|passcode|secret|recoveryCode|authorizationHeader|(?<!page)token$/i

function withoutSecrets(json: JsonValue): JsonValue {
  if (Array.isArray(json)) return json.map(withoutSecrets)
  if (!isObject(json)) return json
  return Object.fromEntries(
    Object.entries(json).map(([name, value]) => [
      name,
      typeof value === 'string' && SECRET.test(name) ? 'SECRET' : withoutSecrets(value),
    ]),
  )
}

/** Whether a field of a form hides what is typed. */
export function isSecret(jsonName: string): boolean {
  return SECRET.test(jsonName)
}

/** Returns the address of a method over Connect, gRPC and gRPC-Web. */
export function rpcUrl(origin: string, { parent, name }: DescMethod): string {
  return `${origin}/${parent.typeName}/${name}`
}
