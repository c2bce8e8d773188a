import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '@connectrpc/connect'
import { IdentityProvider_Type } from '#gen/branchline/v1/identity_provider_pb.ts'
import { IdentityProviderService } from '#gen/branchline/v1/identity_provider_service_pb.ts'
import type { Clock } from '../../src/forge/core/core.ts'
import { parseAllowedHosts } from '../../src/platform/outbound/allowed-hosts.ts'
import { createTestUsers, startTestServer, transportTo } from '../support/server.ts'
import type { Stage } from './representative-calls.ts'

/** A stage that has to be closed. */
export interface OpenStage extends Stage {
  close(): Promise<void>
}

/** Starts a server with everything configured that a representative call needs. */
export async function openStage(clock?: Clock): Promise<OpenStage> {
  const mailDir = await mkdtemp(join(tmpdir(), 'branchline-mail-'))
  const outside = await listen(answer)
  const server = await startTestServer({
    mailDir,
    webhookAllowedHosts: parseAllowedHosts('127.0.0.1'),
    ...(clock && { clock }),
  })
  const users = await createTestUsers(server.url)
  let count = 0
  return {
    url: server.url,
    users,
    identityProvider: await addIdentityProvider(server.url, users.ada.authorization, outside.url),
    webhookUrl: `${outside.url}/hook`,
    nextId() {
      count += 1
      return `x${count}`
    },
    async close() {
      await server.stop()
      await outside.close()
      await rm(mailDir, { recursive: true })
    },
  }
}

async function addIdentityProvider(
  url: string,
  authorization: string,
  outside: string,
): Promise<string> {
  const client = createClient(
    IdentityProviderService,
    transportTo(url, 'Connect JSON', authorization),
  )
  const { name } = await client.createIdentityProvider({
    identityProviderId: 'example',
    identityProvider: {
      type: IdentityProvider_Type.OAUTH2,
      title: 'Example',
      config: {
        config: {
          case: 'oauth2Config',
          value: {
            clientId: 'branchline',
            tokenUrl: `${outside}/token`,
            userInfoUrl: `${outside}/userinfo`,
            fieldMapping: { identifier: 'sub' },
          },
        },
      },
    },
  })
  return name
}

/**
 * A webhook receiver, and an identity provider to which a code is an access token and the person's
 * identifier.
 */
const answer: RequestListener = async (request, response) => {
  let body = ''
  for await (const chunk of request) body += chunk
  response.setHeader('content-type', 'application/json')
  if (request.url === '/token') {
    response.end(
      JSON.stringify({ access_token: new URLSearchParams(body).get('code'), token_type: 'Bearer' }),
    )
  } else if (request.url === '/userinfo') {
    response.end(JSON.stringify({ sub: request.headers.authorization?.replace('Bearer ', '') }))
  }
  // A webhook gets no answer, so that its deliveries stay as they are when they are looked at.
}

async function listen(listener: RequestListener): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
