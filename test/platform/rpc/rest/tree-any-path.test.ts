import { describe, expect, it } from 'vitest'
import { seededRandom } from './random.ts'
import { answer, routerOf } from './routing.ts'

describe('any path', () => {
  it('returns the values with which a template was expanded', () => {
    const templates = [
      '/v1/{a}',
      '/v1/{a}/x/{b}',
      '/v1/{a=p/*/q}/{b}',
      '/v2/{a=**}',
      '/v3/{a}/{b=**}/tail',
      '/v4/{a=p/**}:verb',
      '/v5/{a}...{b}',
      '/v5/{a}.{b=diff|patch}/{c}',
      '/v6/{a}:verb',
    ]
    const router = routerOf(templates.map((path) => `GET ${path}`))
    const random = seededRandom(5)
    // No dots, which mixed segments would split elsewhere, and an escaped slash only where it comes
    // back decoded.
    const text = () =>
      Array.from({ length: 1 + random.below(5) }, () =>
        random.pick(['a', 'Z', '%', '+', ' ', ':', 'é', '🐙', '?', '#', '\0']),
      ).join('')
    const single = () => text() + random.pick(['', '/', '//'])
    const encodeMulti = (value: string) => value.split('/').map(encodeURIComponent).join('/')

    for (let i = 0; i < 3000; i++) {
      const path = random.pick(templates as [string, ...string[]])
      const values: string[] = []
      const expanded = path.replace(/\{\w+(?:=([^}]*))?\}/g, (_, inner: string | undefined) => {
        const value =
          inner === undefined
            ? single()
            : inner.includes('|')
              ? random.pick(['diff', 'patch'])
              : inner.replace('**', () => `${text()}/${text()}`).replace('*', text)
        values.push(value)
        return inner === undefined ? encodeURIComponent(value) : encodeMulti(value)
      })
      expect(answer(router, `GET ${expanded}`), expanded).toEqual([`GET ${path}`, ...values])
    }
  })

  it('does not throw', () => {
    const router = routerOf(
      ['GET /a/{x}', 'GET /{x}.{y}/b', 'GET /a/{x=**}/t', 'GET /{x=**}:v', 'PUT /a/*/**'],
      ['GET /b/{x}'],
    )
    const random = seededRandom(6)
    const kinds = new Set<string>()
    for (let i = 0; i < 20_000; i++) {
      const pieces = Array.from({ length: random.below(9) }, () =>
        random.pick([
          '/',
          '/',
          'a',
          'b',
          't',
          '.',
          ':',
          ':v',
          '%2F',
          '%',
          '%C3',
          '?',
          '\0',
          'é',
          '://',
          '*',
        ]),
      )
      kinds.add(
        router.match(random.pick(['GET', 'HEAD', 'PUT', 'OPTIONS', '']), pieces.join('')).kind,
      )
    }
    expect([...kinds].sort()).toEqual(['badPath', 'match', 'notAllowed', 'notFound'])
  })

  it.each([
    ['slashes', '/'.repeat(64_000), 404],
    ['segments', '/a'.repeat(64_000), 'GET /{p=**}'],
    ['escapes', `/${'%41'.repeat(64_000)}`, 'GET /{x}'],
    ['malformed escapes', '/%zz'.repeat(64_000), 400],
    ['dots', `/${'.'.repeat(64_000)}`, 'GET /{x}.{y}.{z}'],
    ['colons', `/${':'.repeat(64_000)}`, 'GET /{x}'],
    ['tails', '/t'.repeat(64_000), 'GET /{p=**}/t'],
  ])('does not throw with 64,000 %s', (_, path, expected) => {
    const router = routerOf(
      [
        'GET /{p=**}',
        'GET /{p=**}/t',
        'GET /{x}',
        'GET /{x}.{y}.{z}',
        'GET /{x=p}.{y}.{z}.{w=q|r}',
        'GET /a/{x}:v',
      ],
      ['GET /lenient'],
    )
    expect(answer(router, `GET ${path}`)[0]).toBe(expected)
  })

  it('visits no branch twice when it backtracks through many wildcards', () => {
    // Each level has a literal and a wildcard, and every combination of them exists but for the
    // last segment.
    const rules = Array.from({ length: 2 ** 10 }, (_, bits) => {
      const levels = Array.from({ length: 10 }, (_, level) => ((bits >> level) & 1 ? '*' : 'a'))
      return `GET /${levels.join('/')}/end`
    })
    const router = routerOf(rules)
    expect(answer(router, `GET ${'/a'.repeat(10)}/end`)).toEqual([`GET ${'/a'.repeat(10)}/end`])
    expect(answer(router, `GET ${'/a'.repeat(10)}/other`)).toEqual([404])
  })
})
