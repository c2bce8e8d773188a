import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { DescMethod } from '@bufbuild/protobuf'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AuthService } from '#gen/branchline/v1/auth_service_pb.ts'
import { IdentityProviderService } from '#gen/branchline/v1/identity_provider_service_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { testClock } from '../support/app.ts'
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

/**
 * What one call of each method answers over REST, in a file for each: a name or a default that
 * changes is seen in review. Run Vitest with `--update` after a change that is meant.
 */
describe('the JSON of', () => {
  let stage: OpenStage

  beforeAll(async () => {
    stage = await openStage(testClock())
  })
  afterAll(() => stage.close())

  it.each(
    [...PREPARATIONS].map(([method, prepare]) => ({ name: nameOf(method), method, prepare })),
  )('$name', async ({ name, method, prepare }) => {
    const { rest, body } = await prepare(stage)
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
    const golden = { status: response.status, body: withoutChance(await response.json()) }
    await expect(`${JSON.stringify(golden, null, 2)}\n`).toMatchFileSnapshot(`golden/${name}.json`)
  })

  it('is recorded for every method, and for no other', () => {
    const expected = [...PREPARATIONS.keys()].map((method) => `${nameOf(method)}.json`)
    const kept = readdirSync(FOLDER).filter((name) => name.endsWith('.json'))
    expect(kept.sort()).toEqual(expected.sort())
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
