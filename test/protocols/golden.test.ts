import { fileURLToPath } from 'node:url'
import type { DescMethod } from '@bufbuild/protobuf'
import { afterAll, beforeAll, describe } from 'vitest'
import { AuthService } from '#gen/branchline/v1/auth_service_pb.ts'
import { IdentityProviderService } from '#gen/branchline/v1/identity_provider_service_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { testClock } from '../support/app.ts'
import { type Answer, testGoldenAnswers } from './golden-answers.ts'
import type { Call } from './invoke.ts'
import { PREPARATIONS } from './representative-calls.ts'
import { type OpenStage, openStage } from './stage.ts'

/** Only administrators may. */
const BY_ADMINISTRATORS: readonly DescMethod[] = [
  UserService.method.listUsers,
  UserService.method.createUser,
  UserService.method.deleteUser,
  AuthService.method.createPasswordResetToken,
  ...IdentityProviderService.methods,
]

const FOLDER = fileURLToPath(new URL('golden/', import.meta.url))
const nameOf = (method: DescMethod) => `${method.parent.name}.${method.name}`

/** Methods whose answers are those of another one. */
const SAME_AS = {
  'IdentityProviderService.GetIdentityProvider': ['IdentityProviderService.CreateIdentityProvider'],
  'TwoFactorService.DisableTwoFactor': ['TwoFactorService.RegenerateRecoveryCodes'],
  'UserService.CreateUserWebhook': ['UserService.UpdateUserWebhook'],
  'UserService.GetLinkedIdentity': ['UserService.CreateLinkedIdentity'],
  'UserService.TestUserWebhook': ['UserService.RedeliverUserWebhookDelivery'],
}

describe('the JSON of', () => {
  let stage: OpenStage
  const answers = new Map<string, Answer>()

  beforeAll(async () => {
    stage = await openStage(testClock())
    for (const [method, prepare] of PREPARATIONS)
      answers.set(nameOf(method), await call(method, await prepare(stage)))
  })
  afterAll(() => stage.close())

  async function call(method: DescMethod, { rest, body }: Call): Promise<Answer> {
    const [verb = '', path = ''] = rest.split(' ')
    const { ada, bob } = stage.users
    const response = await fetch(stage.url + path, {
      method: verb,
      headers: {
        authorization: (BY_ADMINISTRATORS.includes(method) ? ada : bob).authorization,
        'content-type': 'application/json',
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: withoutChance(await response.json()) }
  }

  testGoldenAnswers({
    folder: FOLDER,
    names: [...PREPARATIONS.keys()].map(nameOf),
    sameAs: SAME_AS,
    answerOf: (name) => answers.get(name),
  })
})

/** What chance decides, and so differs from run to run. The clock stands still. */
const CHANCE: readonly (readonly [RegExp, string])[] = [
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, '<uuid>'],
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]+/g, '<jwt>'],
  [/\bbranchline_pat_[0-9A-Za-z]+/g, '<token>'],
  [/\bwhsec_[0-9A-Za-z+/]+=*/g, '<secret>'],
  [/\bmsg_[0-9A-Za-z]+/g, '<delivery>'],
  [/\/webhooks\/[0-9a-f]{16}/g, '/webhooks/<webhook>'],
  [/127\.0\.0\.1:\d+/g, '<host>'],
  [/\bx\d+\b/g, '<id>'],
  [/\/notifications\/\d+/g, '/notifications/<number>'],
]

/** Lists hold what calls before left behind as well. The first items show how one looks. */
const MAX_ITEMS = 2

/** Members whose whole text is chance, or the version of a library. */
const RANDOM_MEMBERS = new Set(['secret', 'otpauthUri', 'token', 'nextPageToken', 'userAgent'])

function withoutChance(value: unknown, key = ''): unknown {
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map((item) => withoutChance(item))
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [name, withoutChance(item, name)]),
    )
  }
  if (typeof value !== 'string') return value
  if (RANDOM_MEMBERS.has(key)) return `<${key}>`
  return CHANCE.reduce((text, [pattern, name]) => text.replace(pattern, name), value)
}
