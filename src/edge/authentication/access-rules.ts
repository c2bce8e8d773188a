import { type DescMethod, hasOption, type Message } from '@bufbuild/protobuf'
import { MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt'
import type { Interceptor, StreamRequest, UnaryRequest } from '@connectrpc/connect'
import { Audience, access } from '#gen/branchline/access/v1/access_pb.ts'
import { AuthService } from '#gen/branchline/v1/auth_service_pb.ts'
import { http } from '#gen/google/api/annotations_pb.ts'
import { actAs } from '../../forge/accounts/credentials/reauthentication.ts'
import { getUser } from '../../forge/accounts/users/users.ts'
import type { App } from '../../forge/app.ts'
import {
  type Caller,
  holdsScope,
  type SignedIn,
  seesPublicDataOnly,
} from '../../forge/core/access.ts'
import { DomainError } from '../../forge/core/errors.ts'
import type { User } from '../../forge/core/schema.ts'
import { callerKey, ownerKey, proxyUserKey } from '../../forge/core/wire/call.ts'
import { parseOwnedName } from '../../forge/core/wire/names.ts'
import { optionOf } from '../../platform/rpc/rest/schema/options.ts'
import { authenticate, sudoQueryKey, wantedAccount } from './authenticate.ts'
import { originKey } from './peers.ts'
import type { ProxySignIn } from './proxy-sign-in.ts'

/** The compiled access option of a method. */
interface Rule {
  readonly audience: Audience
  /** The scopes of the method. A token needs all of them. */
  readonly scopes: readonly string[]
  /** Level of the scope `admin` that a call for another account needs. */
  readonly level: 'read' | 'write'
  /** Reads the resource name that contains the owner. */
  readonly ownerName: ((message: Message) => string) | undefined
  readonly sessionOnly: boolean
  readonly privateData: boolean
  readonly ignoresCredentials: boolean
  readonly passwordOnly: boolean
  /** Whether calls add data. They are refused while the disk is full. */
  readonly isStoring: boolean
}

/**
 * Authenticates and authorises each call of every protocol before its handler runs, by the access
 * option of the method. A method without one is refused.
 *
 * @param isOpen returns whether a method belongs to a standard service without access options, such
 *   as health checks.
 * @param proxy identifies callers without credentials; undefined where no proxy is trusted.
 */
export function accessInterceptor(
  app: App,
  isOpen: (method: DescMethod) => boolean,
  proxy: ProxySignIn | undefined,
): Interceptor {
  const rules = new Map<DescMethod, Rule>()
  const ruleOf = (method: DescMethod) => {
    const known = rules.get(method)
    if (known) return known
    const rule = compileRule(method)
    rules.set(method, rule)
    return rule
  }
  return (next) => async (request) => {
    if (isOpen(request.method)) return next(request)
    const rule = ruleOf(request.method)
    const { contextValues } = request
    const { peer } = contextValues.get(originKey)
    const authenticated: Caller | Promise<Caller> = rule.ignoresCredentials
      ? { kind: 'anonymous', peer }
      : authenticate(app, request.header, peer)
    // A call without a look-up needs no extra step of the microtask queue.
    let caller = authenticated instanceof Promise ? await authenticated : authenticated
    if (proxy && caller.kind === 'anonymous') caller = await askProxy(proxy, rule, request, caller)
    const wanted = wantedAccount(request.header, contextValues.get(sudoQueryKey))
    if (wanted !== undefined) caller = await actAs(app, caller, wanted)
    contextValues.set(callerKey, caller)
    if (caller.kind === 'anonymous') checkAnonymous(app, rule)
    const owner =
      rule.ownerName && !request.stream
        ? await findOwner(app, rule.ownerName(request.message))
        : undefined
    if (owner) contextValues.set(ownerKey, owner)
    if (caller.kind === 'user') checkSignedIn(rule, caller, owner)
    if (rule.isStoring && (await app.disk.isFull())) throw new DomainError('DISK_FULL')
    return await next(request)
  }
}

/** Methods that start or read a session. A proxy may always name the caller of these. */
const SESSION_METHODS: ReadonlySet<DescMethod> = new Set([
  AuthService.method.signIn,
  AuthService.method.refreshToken,
  AuthService.method.getCurrentUser,
])

/** Returns the caller that a proxy names, where that is allowed, otherwise the anonymous one. */
async function askProxy(
  proxy: ProxySignIn,
  rule: Rule,
  request: UnaryRequest | StreamRequest,
  anonymous: Caller,
): Promise<Caller> {
  const startsSession = SESSION_METHODS.has(request.method)
  if (rule.ignoresCredentials) {
    if (startsSession) request.contextValues.set(proxyUserKey, () => proxy.userOf(request))
    return anonymous
  }
  const user = startsSession || proxy.api ? await proxy.userOf(request) : undefined
  return user
    ? { kind: 'user', peer: anonymous.peer, user, credential: { kind: 'proxy' } }
    : anonymous
}

/**
 * Checks the access options of all methods. A server with a problem must not start.
 *
 * @returns one sentence per problem, with the name of the method.
 */
export function accessProblems(methods: Iterable<DescMethod>): string[] {
  return [...methods].flatMap((method) => {
    try {
      compileRule(method)
      return []
    } catch (error) {
      return [error instanceof Error ? error.message : String(error)]
    }
  })
}

function compileRule(method: DescMethod): Rule {
  const name = `${method.parent.typeName}.${method.name}`
  const option = hasOption(method, access) ? optionOf(method, access) : undefined
  if (!option || option.audience === Audience.AUDIENCE_UNSPECIFIED)
    throw new Error(`${name} has no access option`)
  const scopes = option.scope === '' ? [] : option.scope.split(' ')
  for (const scope of scopes) {
    if (!/^(read|write):[a-z]+$/.test(scope)) throw new Error(`${name}: "${scope}" is no scope`)
  }
  const owned = option.audience === Audience.SELF || option.audience === Audience.SELF_OR_ADMIN
  if (owned !== (option.owner !== ''))
    throw new Error(`${name}: its audience and its owner field do not fit`)
  if (owned && method.methodKind !== 'unary')
    throw new Error(`${name}: the owner of a stream cannot be checked`)
  return {
    audience: option.audience,
    scopes,
    level: scopes.some((scope) => scope.startsWith('write:')) ? 'write' : 'read',
    ownerName: owned ? compileOwnerName(method, option.owner) : undefined,
    sessionOnly: option.sessionOnly,
    privateData: option.privateData,
    ignoresCredentials: option.ignoresCredentials,
    passwordOnly: option.passwordOnly,
    isStoring: isStoring(method),
  }
}

/**
 * Returns whether a method adds data. Deletions make room, and an administrator who makes room must
 * be able to sign in.
 */
function isStoring(method: DescMethod): boolean {
  const isRead = method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS
  const deletes = hasOption(method, http) && optionOf(method, http).pattern.case === 'delete'
  return !isRead && !deletes && method.parent.typeName !== AuthService.typeName
}

/** Compiles a reader of the string field at a path. */
function compileOwnerName(method: DescMethod, path: string): (message: Message) => string {
  const names: string[] = []
  let desc = method.input
  for (const [i, part] of path.split('.').entries()) {
    const field = desc.fields.find((candidate) => candidate.name === part)
    const last = i === path.split('.').length - 1
    if (!field || (last ? field.scalar === undefined : field.message === undefined)) {
      throw new Error(
        `${method.parent.typeName}.${method.name}: no field ${path} to name the owner`,
      )
    }
    names.push(field.localName)
    if (field.message) desc = field.message
  }
  return (message) => {
    let value: unknown = message
    for (const name of names)
      value = (value as Readonly<Record<string, unknown>> | undefined)?.[name]
    return typeof value === 'string' ? value : ''
  }
}

function findOwner(app: App, name: string): Promise<User> {
  return getUser(app, parseOwnedName(name).user)
}

function checkAnonymous(app: App, { audience, passwordOnly }: Rule): void {
  if (passwordOnly) throw new DomainError('PASSWORD_REQUIRED')
  if (audience === Audience.ALWAYS_PUBLIC) return
  if (audience === Audience.PUBLIC && !app.settings.privateInstance) return
  throw new DomainError('UNAUTHENTICATED')
}

/** Checks the scope first, then the kind of the credential, then the role of the caller. */
function checkSignedIn(rule: Rule, caller: SignedIn, owner: User | undefined): void {
  if (rule.passwordOnly && caller.credential.kind !== 'password')
    throw new DomainError('PASSWORD_REQUIRED')
  const actsOnOther = owner !== undefined && owner.id !== caller.user.id
  const actsAsAdmin =
    actsOnOther && rule.audience === Audience.SELF_OR_ADMIN && caller.user.role === 'ADMIN'
  const scopes = actsAsAdmin ? [`${rule.level}:admin`] : rule.scopes
  const scope = scopes.find((needed) => !holdsScope(caller, needed))
  if (scope !== undefined) throw new DomainError('SCOPE_MISSING', { scope })
  if (rule.sessionOnly && caller.credential.kind === 'token')
    throw new DomainError('SESSION_REQUIRED')
  if (rule.privateData && seesPublicDataOnly(caller))
    throw new DomainError('PUBLIC_ONLY_TOKEN', { method: 'private data' })
  if (rule.audience === Audience.ADMINISTRATORS && caller.user.role !== 'ADMIN')
    throw new DomainError('PERMISSION_DENIED')
  if (actsOnOther && !actsAsAdmin) throw new DomainError('PERMISSION_DENIED')
}
