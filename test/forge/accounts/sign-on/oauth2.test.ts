import type { ServerResponse } from 'node:http'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type {
  AuthorizationGrant,
  OAuth2Client,
  OAuth2Provider,
} from '../../../../src/forge/accounts/ports.ts'
import { createOAuth2Client } from '../../../../src/forge/accounts/sign-on/oauth2.ts'
import { parseAllowedHosts } from '../../../../src/platform/outbound/allowed-hosts.ts'
import { createOutbound } from '../../../../src/platform/outbound/outbound.ts'
import {
  answerJson,
  CLIENT_ID,
  CLIENT_SECRET,
  type OAuthProvider,
  REDIRECT_URI,
  startOAuthProvider,
} from '../../../support/oauth-provider.ts'

/** From RFC 7636 appendix B. */
const CODE_VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'

let provider: OAuthProvider
let client: OAuth2Client

// No host is allowed. Administrators may configure URLs that other users may not.
const outbound = createOutbound({ allowedHosts: parseAllowedHosts(''), ownAddresses: () => [] })

beforeEach(async () => {
  provider = await startOAuthProvider()
  client = createOAuth2Client({ outbound, userAgent: 'branchline/test' })
})
afterEach(() => provider.stop())

function fetchClaims(
  grant: Partial<AuthorizationGrant>,
  endpoints: Partial<OAuth2Provider> = {},
  signal = new AbortController().signal,
) {
  return client.fetchClaims(
    {
      clientId: CLIENT_ID,
      clientSecret: CLIENT_SECRET,
      tokenUrl: provider.tokenUrl,
      userInfoUrl: provider.userInfoUrl,
      ...endpoints,
    },
    {
      code: provider.signIn({ sub: 'bob' }),
      redirectUri: REDIRECT_URI,
      codeVerifier: '',
      holder: 'server',
      ...grant,
    },
    signal,
  )
}

const refused = (detail: string) => ({ name: 'OAuth2Error', isRefusal: true, detail })
const unavailable = (detail: string) => ({ name: 'OAuth2Error', isRefusal: false, detail })

/** The failure for a useless answer with status 200. */
const NONSENSE = unavailable('token answer of status 200 makes no sense')

function answer(status: number, type: string, body: string | Buffer) {
  return (response: ServerResponse) => {
    response.writeHead(status, { 'content-type': type })
    response.end(body)
  }
}

describe('redeeming a code', () => {
  it('sends what RFC 6749 section 4.1.3 requires, and reads the claims with the token', async () => {
    const claims = await fetchClaims({ code: provider.signIn({ sub: 'bob', name: 'Bob' }) })
    expect([...claims]).toEqual([
      ['sub', 'bob'],
      ['name', 'Bob'],
    ])
    const [{ form, headers } = expect.fail()] = provider.tokenRequests
    expect([...form.keys()]).toEqual(['grant_type', 'code', 'redirect_uri'])
    expect(headers).toMatchObject({
      accept: 'application/json',
      'content-type': 'application/x-www-form-urlencoded',
      'user-agent': 'branchline/test',
    })
    expect(provider.userInfoRequests).toMatchObject([
      { accept: 'application/json', 'user-agent': 'branchline/test' },
    ])
  })

  it('proves with PKCE (S256) that it started the flow', async () => {
    const code = provider.signIn({ sub: 'bob' }, CODE_VERIFIER)
    await expect(fetchClaims({ code, codeVerifier: CODE_VERIFIER })).resolves.toBeDefined()
    const stolen = provider.signIn({ sub: 'bob' }, CODE_VERIFIER)
    await expect(fetchClaims({ code: stolen, codeVerifier: 'x'.repeat(43) })).rejects.toMatchObject(
      refused('invalid_grant'),
    )
  })

  it.each([
    [
      'a code that was used',
      async () => {
        const code = provider.signIn({ sub: 'bob' })
        await fetchClaims({ code })
        return { code }
      },
    ],
    ['a code that was never given', async () => ({ code: 'anything' })],
    ['another redirect URI', async () => ({ redirectUri: 'https://evil.example.org/' })],
  ])('is refused for %s, after one request', async (_, makeGrant) => {
    const grant = await makeGrant()
    const before = provider.tokenRequests.length
    await expect(fetchClaims(grant)).rejects.toMatchObject(refused('invalid_grant'))
    expect(provider.tokenRequests).toHaveLength(before + 1)
  })

  it('never reveals the code, the secret or the error text of the provider', async () => {
    const error = await fetchClaims({ code: 'a-private-code' }).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject(refused('invalid_grant'))
    expect(JSON.stringify([error, String(error), (error as Error).stack])).not.toMatch(
      /a-private-code|sesame/,
    )
  })
})

describe('client authentication', () => {
  it('moves into the form if the provider refuses the header, and is remembered', async () => {
    provider.takes = 'form'
    await fetchClaims({})
    await fetchClaims({})
    const ways = provider.tokenRequests.map(({ headers, form }) => [
      !!headers.authorization,
      form.has('client_secret'),
    ])
    expect(ways).toEqual([
      [true, false],
      [false, true],
      [false, true],
    ])
  })

  it('moves back to the header if the provider changes', async () => {
    provider.takes = 'form'
    await fetchClaims({})
    provider.takes = 'basic'
    await expect(fetchClaims({})).resolves.toBeDefined()
    await fetchClaims({})
    expect(provider.tokenRequests).toHaveLength(2 + 2 + 1)
  })

  it('is an id without a secret for a public client', async () => {
    provider.takes = 'none'
    await expect(fetchClaims({}, { clientSecret: '' })).resolves.toBeDefined()
    provider.takes = 'basic'
    await expect(fetchClaims({}, { clientSecret: '' })).rejects.toMatchObject(
      refused('invalid_client'),
    )
    expect(provider.tokenRequests).toHaveLength(2)
  })

  it('is tried in two ways only', async () => {
    await expect(fetchClaims({}, { clientSecret: 'wrong' })).rejects.toMatchObject(
      refused('invalid_client'),
    )
    expect(provider.tokenRequests).toHaveLength(2)
  })

  it.each([
    ['a status without an error', 400, ''],
    ['invalid_request, since it found no id in the form', 400, '{"error":"invalid_request"}'],
    ['unauthorized_client', 403, '{"error":"unauthorized_client"}'],
  ])('is tried in the form after %s', async (_, status, body) => {
    provider.takes = 'form'
    provider.answerToken = (response) => {
      provider.answerToken = undefined
      answer(status, 'application/json', body)(response)
    }
    await expect(fetchClaims({})).resolves.toBeDefined()
  })
})

describe('a token answer', () => {
  it.each([
    ['JSON', 'application/json; charset=utf-8', '{"access_token":"t"}'],
    ['JSON under another name', 'text/html', '{"access_token":"t"}'],
    ['a form', 'application/x-www-form-urlencoded', 'access_token=t&scope=&token_type=bearer'],
    ['a form that calls itself text', 'text/plain;charset=UTF-8', 'access_token=t&expires=5183999'],
  ])('may be %s', async (_, type, body) => {
    provider.answerToken = answer(200, type, body)
    provider.answerUserInfo = answer(200, 'application/json', '{"sub":"bob"}')
    expect((await fetchClaims({})).get('sub')).toBe('bob')
    expect(provider.userInfoRequests[0]?.authorization).toBe('Bearer t')
  })

  it.each<[string, number, string, string, object]>([
    // Some providers refuse with status 200.
    [
      'an error',
      200,
      'application/json',
      '{"error":"bad_verification_code"}',
      refused('bad_verification_code'),
    ],
    [
      'an error in a form',
      200,
      'application/x-www-form-urlencoded',
      'error=denied',
      refused('denied'),
    ],
    ['a refusal without a reason', 403, 'text/html', '<h1>No</h1>', refused('')],
    ['an error that is no code', 400, 'application/json', '{"error":"<script>\\n"}', refused('')],
    ['an error without end', 400, 'application/json', `{"error":"${'x'.repeat(65)}"}`, refused('')],
    ['an error that is no text', 400, 'application/json', '{"error":{"code":7}}', refused('')],
    [
      'a fault',
      500,
      'application/json',
      '{"error":"server_error"}',
      unavailable('token answer of status 500 makes no sense'),
    ],
    [
      'too many requests',
      429,
      'text/plain',
      '',
      unavailable('token answer of status 429 makes no sense'),
    ],
    ['HTML', 200, 'text/html', '<a href="?access_token=t">', NONSENSE],
    ['HTML that says it is a form', 200, 'text/plain', '<p>', NONSENSE],
    ['nothing', 200, 'application/json', '', NONSENSE],
    ['no token', 200, 'application/json', '{}', NONSENSE],
    ['an empty token', 200, 'application/json', '{"access_token":""}', NONSENSE],
    ['a token that is a list', 200, 'application/json', '{"access_token":["t"]}', NONSENSE],
    [
      'a token that ends the header',
      200,
      'application/json',
      '{"access_token":"t\\r\\nx-evil: 1"}',
      NONSENSE,
    ],
    ['a list', 200, 'application/json', '[{"access_token":"t"}]', NONSENSE],
  ])('that is %s ends the exchange', async (_, status, type, body, error) => {
    provider.answerToken = answer(status, type, body)
    await expect(fetchClaims({})).rejects.toMatchObject(error)
    expect(provider.userInfoRequests).toEqual([])
  })
})

describe('the claims', () => {
  it.each([
    ['12345', '12345'],
    // 2^53 + 1, which JSON.parse would round.
    ['9007199254740993', '9007199254740993'],
    ['"9007199254740993"', '9007199254740993'],
    ['123456789012345678901234567890', '123456789012345678901234567890'],
    ['-7', '-7'],
    ['"a \\" 12 \\\\"', 'a " 12 \\'],
    ['"\\u0031"', '1'],
  ])('have the text of %s as it was sent', async (json, value) => {
    const claims = await fetchClaims({
      code: provider.signIn(`{ "n" : [1, -2.5e+3, "3"] , "sub":${json}}`),
    })
    expect(claims.get('sub')).toBe(value)
    expect(claims.get('n')).toEqual(['1', '-2.5e+3', '3'])
  })

  it('may have any name', async () => {
    const claims = await fetchClaims({
      code: provider.signIn('{"__proto__":"a","constructor":"b","12":"c"}'),
    })
    expect(Object.fromEntries([...claims].sort())).toEqual(
      Object.fromEntries([
        ['12', 'c'],
        ['__proto__', 'a'],
        ['constructor', 'b'],
      ]),
    )
    expect(claims.get('toString')).toBeUndefined()
  })

  it('are read from a long text of escapes', async () => {
    const claims = await fetchClaims({
      code: provider.signIn(`{"x":"${'\\\\'.repeat(400_000)}","sub":1}`),
    })
    expect(claims.get('sub')).toBe('1')
  })

  it.each<[string, number, string, string | Buffer]>([
    ['a refusal', 401, 'application/json', '{"sub":"bob"}'],
    ['a fault', 503, 'application/json', '{"sub":"bob"}'],
    ['HTML', 200, 'text/html', '<html>'],
    ['a form', 200, 'application/x-www-form-urlencoded', 'sub=bob'],
    ['a list', 200, 'application/json', '["bob"]'],
    ['a text', 200, 'application/json', '"bob"'],
    ['null', 200, 'application/json', 'null'],
    ['almost JSON', 200, 'application/json', '{"sub":01}'],
    ['more than a mebibyte', 200, 'application/json', `{"sub":"bob"}${' '.repeat(1024 * 1024)}`],
    ['not UTF-8', 200, 'application/json', Buffer.from('{"sub":"b\u00f6b"}', 'latin1')],
  ])('are not read from %s', async (_, status, type, body) => {
    provider.answerUserInfo = answer(status, type, body)
    await expect(fetchClaims({})).rejects.toMatchObject(
      unavailable(`user info answer of status ${status} makes no sense`),
    )
  })
})

describe('a provider that misbehaves', () => {
  it.each(['answerToken', 'answerUserInfo'] as const)(
    'is not followed to another URL (%s)',
    async (endpoint) => {
      provider[endpoint] = (response) => {
        response.writeHead(307, { location: provider.tokenUrl })
        response.end()
      }
      await expect(fetchClaims({})).rejects.toMatchObject({ isRefusal: false })
      expect(provider.tokenRequests).toHaveLength(1)
    },
  )

  it.each(['answerToken', 'answerUserInfo'] as const)(
    'is aborted when it does not respond (%s)',
    async (endpoint) => {
      client = createOAuth2Client({ outbound, userAgent: 'branchline/test', timeoutMs: 50 })
      provider[endpoint] = () => {}
      await expect(fetchClaims({})).rejects.toMatchObject(unavailable('TIMEOUT'))
    },
  )

  it('is aborted when its response does not end', async () => {
    provider.answerUserInfo = (response) => {
      response.writeHead(200)
      const more = () => {
        while (response.write('x'.repeat(64 * 1024)));
      }
      response.on('drain', more)
      more()
    }
    await expect(fetchClaims({})).rejects.toMatchObject({ isRefusal: false })
  })

  it('is aborted when the caller cancels', async () => {
    const waiting = new AbortController()
    provider.answerToken = () => waiting.abort()
    await expect(fetchClaims({}, {}, waiting.signal)).rejects.toMatchObject(
      unavailable('CANCELLED'),
    )
  })

  it('is unavailable when nothing listens there', async () => {
    const { tokenUrl } = provider
    await provider.stop()
    await expect(fetchClaims({}, { tokenUrl })).rejects.toMatchObject(
      unavailable('CONNECTION_FAILED'),
    )
  })

  it('is limited to twenty exchanges, which do not affect other providers', async () => {
    const held: ServerResponse[] = []
    const full = new Promise<void>((resolve) => {
      provider.answerToken = (response) => {
        if (held.push(response) === 20) resolve()
      }
    })
    const exchanges = Array.from({ length: 20 }, () =>
      fetchClaims({}).catch((error: unknown) => error),
    )
    await full
    await expect(fetchClaims({})).rejects.toMatchObject(unavailable('too many exchanges at once'))
    const other = await startOAuthProvider()
    const elsewhere = { tokenUrl: other.tokenUrl, userInfoUrl: other.userInfoUrl }
    await expect(
      fetchClaims({ code: other.signIn({ sub: 'bob' }) }, elsewhere),
    ).resolves.toBeDefined()
    await other.stop()
    for (const response of held) answerJson(response, 500, {})
    await Promise.all(exchanges)
    provider.answerToken = undefined
    await expect(fetchClaims({})).resolves.toBeDefined()
  })
})
