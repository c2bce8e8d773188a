import { type DescMethod, getOption, hasOption } from '@bufbuild/protobuf'
import { Audience, access } from '#gen/branchline/access/v1/access_pb.ts'
import { type User, User_Role } from '#gen/branchline/v1/user_pb.ts'
import { http } from '#gen/google/api/annotations_pb.ts'
import type { HttpRule } from '#gen/google/api/http_pb.ts'
import { method as restMethod } from '#gen/rest/v1/rest_pb.ts'
import { t } from '../language/texts.tsx'

/** Returns the first paragraph of a comment, in one line. */
export function firstParagraph(comment: string): string {
  return (comment.trim().split('\n\n', 1)[0] ?? '').replace(/\n\s*/g, ' ')
}

/** A path of REST that leads to a method. */
export interface RestBinding {
  readonly verb: string
  readonly template: string
  /** The field that the content fills; `*` for all that are not in the path, empty for none. */
  readonly body: string
}

/** Returns the REST bindings of a method, the main one first. */
export function bindingsOf(method: DescMethod): readonly RestBinding[] {
  const main = hasOption(method, http) ? getOption(method, http) : undefined
  const rules = main ? [main, ...main.additionalBindings] : []
  return [...rules, ...getOption(method, restMethod).bindings].map(bindingOf)
}

/**
 * Returns the names of the fields that every path of a method contains. Calls without them fail,
 * also where the schema does not call them required.
 */
export function fieldsInPaths(method: DescMethod): ReadonlySet<string> {
  const inPaths = bindingsOf(method).map(({ template }) => {
    // A variable of several segments may be empty.
    const variables = [...template.matchAll(/\{(\w+)(?:=[^}]*)?\}/g)]
    return variables.filter(([text]) => !text.includes('**')).map(([, name = '']) => name)
  })
  const [first = [], ...others] = inPaths
  return new Set(first.filter((name) => others.every((names) => names.includes(name))))
}

function bindingOf({ pattern, body }: HttpRule): RestBinding {
  if (pattern.case === undefined) return { verb: '', template: '', body }
  if (pattern.case === 'custom')
    return { verb: pattern.value.kind, template: pattern.value.path, body }
  return { verb: pattern.case.toUpperCase(), template: pattern.value, body }
}

const AUDIENCES: Readonly<Record<Audience, string>> = {
  [Audience.AUDIENCE_UNSPECIFIED]: t('Everyone.'),
  [Audience.ALWAYS_PUBLIC]: t('Everyone, without an account too, also on a private instance.'),
  [Audience.PUBLIC]: t('Everyone, without an account too, unless the instance is private.'),
  [Audience.SIGNED_IN]: t('Signed-in users.'),
  [Audience.SELF]: t('The account that the request names.'),
  [Audience.SELF_OR_ADMIN]: t('The account that the request names, and administrators.'),
  [Audience.ADMINISTRATORS]: t('Administrators.'),
}

/** The callers that a method permits, and their credentials. */
interface AccessFacts {
  /** Sentences for readers. */
  readonly sentences: readonly string[]
  /** The scopes that a personal access token needs. */
  readonly scopes: readonly string[]
  readonly needsUser: boolean
  readonly needsAdministrator: boolean
  readonly needsPassword: boolean
  readonly ignoresCredentials: boolean
}

/** Reads the access rule of a method. */
export function accessOf(method: DescMethod): AccessFacts {
  const rule = getOption(method, access)
  const { audience, scope, sessionOnly, privateData, ignoresCredentials, passwordOnly } = rule
  const sentences = [
    AUDIENCES[audience],
    passwordOnly && t('Only the password of the account is accepted, by Basic authentication.'),
    sessionOnly && t('Personal access tokens are not accepted.'),
    privateData && t('Personal access tokens for public data only are not accepted.'),
    ignoresCredentials && t('Credentials are ignored.'),
  ].filter((sentence) => sentence !== false)
  return {
    sentences,
    scopes: scope === '' ? [] : scope.split(' '),
    needsUser: audience >= Audience.SIGNED_IN,
    needsAdministrator: audience === Audience.ADMINISTRATORS,
    needsPassword: passwordOnly,
    ignoresCredentials,
  }
}

/** Returns why this page cannot call a method; undefined if it can. */
export function obstacleTo(
  method: DescMethod,
  user: User | undefined,
): { readonly text: string; readonly isSignedOut: boolean } | undefined {
  const { needsUser, needsAdministrator, needsPassword } = accessOf(method)
  const because = (text: string, isSignedOut = false) => ({ text, isSignedOut })
  if (method.methodKind !== 'unary' && method.methodKind !== 'server_streaming')
    return because(t('A browser cannot send a stream of messages. Use the command below.'))
  if (needsPassword)
    return because(
      t('The method needs the password, which this page does not keep. Use a command.'),
    )
  if (needsUser && !user) return because(t('The method is for signed-in users:'), true)
  if (needsAdministrator && user?.role !== User_Role.ADMIN)
    return because(t('Only administrators may call the method.'))
  return undefined
}
