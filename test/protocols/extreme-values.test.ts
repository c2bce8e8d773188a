import { type DescField, type DescMethod, ScalarType } from '@bufbuild/protobuf'
import { beforeAll, describe, expect, it } from 'vitest'
import { openForge } from '../support/forge.ts'
import { servedMethods } from './forge-matrix/ask.ts'

const { server, users, rest } = await openForge()
const methods = (await servedMethods()).filter(({ methodKind }) => methodKind === 'unary')

/** What is there. */
const KNOWN: Readonly<Record<string, string | number>> = {
  owner: 'bob',
  repo: 'engine',
  org: 'acme',
  username: 'bob',
  parent: 'users/bob',
  name: 'users/bob',
  index: 1,
  id: 1,
  sha: 'main',
  ref: 'main',
  branch: 'main',
}

beforeAll(async () => {
  const place = '/repos/bob/engine'
  await rest(users.bob, 'POST', '/user/repos', { name: 'engine', auto_init: true })
  await rest(users.bob, 'POST', '/orgs', { username: 'acme' })
  const content = Buffer.from('x').toString('base64')
  const change = { content, branch: 'main', new_branch: 'fix', message: 'x' }
  await rest(users.bob, 'POST', `${place}/contents/x.txt`, change)
  const pull = { title: 'x', head: 'fix', base: 'main' }
  expect((await rest(users.bob, 'POST', `${place}/pulls`, pull)).status).toBe(201)
})

function typeOf(field: DescField): ScalarType | undefined {
  return field.fieldKind === 'scalar' || (field.fieldKind === 'list' && field.listKind === 'scalar')
    ? field.scalar
    : undefined
}

/** Calls a method once for each of its fields of some types, with a value in this field. */
async function failuresOf(
  method: DescMethod,
  types: readonly ScalarType[],
  value: string,
): Promise<string[]> {
  const { fields } = method.input
  const known = fields.flatMap(({ name, jsonName, fieldKind }) =>
    fieldKind === 'scalar' && name in KNOWN ? [[jsonName, KNOWN[name]]] : [],
  )
  const failures: string[] = []
  for (const field of fields) {
    const type = typeOf(field)
    if (type === undefined || !types.includes(type)) continue
    const request = {
      ...Object.fromEntries(known),
      [field.jsonName]: field.fieldKind === 'list' ? [value] : value,
    }
    const response = await fetch(`${server.url}/${method.parent.typeName}/${method.name}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: users.bob.authorization,
      },
      body: JSON.stringify(request),
    })
    const text = await response.text()
    if (response.status >= 500) failures.push(`${method.name} ${field.name}: ${text}`)
  }
  return failures
}

async function failuresOfAll(
  tried: readonly DescMethod[],
  types: readonly ScalarType[],
  value: string,
): Promise<string[]> {
  const failures: string[] = []
  for (const method of tried) failures.push(...(await failuresOf(method, types, value)))
  return failures
}

describe('a request with an extreme value in any one field', { timeout: 300_000 }, () => {
  it.each(['9223372036854775807', '-9223372036854775808', '2147483648'])(
    'is answered, or refused by a rule: the number %s',
    async (value) => {
      const types =
        value === '2147483648'
          ? [ScalarType.INT64, ScalarType.UINT32]
          : [ScalarType.INT64, ScalarType.SINT64]
      expect(await failuresOfAll(methods, types, value)).toEqual([])
    },
  )

  it.each(['2147483647', '-2147483648'])(
    'is answered, or refused by a rule: the number of 32 bits %s',
    async (value) => {
      expect(await failuresOfAll(methods, [ScalarType.INT32], value)).toEqual([])
    },
  )

  it.each([
    ['U+0000', 'a\0b'],
    ['the characters of patterns', '%_\\\'"*?['],
    ['letters outside of ASCII, and a noncharacter', 'ÄßİΣ\uFDD0'],
  ])('is answered, or refused by a rule: %s', async (_, value) => {
    const reads = methods.filter(({ idempotency }) => idempotency === 1)
    expect(await failuresOfAll(reads, [ScalarType.STRING], value)).toEqual([])
  })
})

describe('a search', () => {
  it('ignores the case of ASCII letters only', async () => {
    const of = { title: 'ÄPFEL und Birnen' }
    await rest(users.bob, 'POST', '/repos/bob/engine/milestones', of)
    const found = async (part: string) => {
      const path = `/repos/bob/engine/milestones?name=${encodeURIComponent(part)}`
      return (await rest(users.bob, 'GET', path)).body.map(({ title }: typeof of) => title)
    }
    expect(await found('ÄpFeL')).toEqual([of.title])
    expect(await found('UND')).toEqual([of.title])
    expect(await found('äpfel')).toEqual([])
  })
})
