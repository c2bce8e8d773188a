import type { DescService } from '@bufbuild/protobuf'
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { ApiSchema } from '../explorer/schema.ts'
import {
  type Call,
  type Client,
  Code,
  ConnectError,
  createClient,
  createTransport,
  type Transport,
} from './calls.ts'
import { failingInWords } from './network-failure.ts'
import { loadScript } from './scripts.ts'
import { Session } from './session.ts'

/** The API of the server, as the user of this browser sees it. */
export interface Api {
  readonly session: Session
  /** Sends calls as the user, for methods that are known at run time only. */
  readonly transport: Transport
  /** Describes the API itself. Loaded once, when somebody asks. */
  schema(): Promise<ApiSchema>
  /** Returns a client of a service. A page imports the schema of the services that it calls. */
  of<Service extends DescService>(service: Service): Client<Service>
}

/**
 * Creates the clients.
 *
 * @param onSessionChange called when somebody has signed in or out.
 */
export function createApi(onSessionChange: () => void): Api {
  const server = failingInWords(createTransport())
  const session = new Session(server, onSessionChange)
  const transport = authorizedBy(session, server)
  let schema: Promise<ApiSchema> | undefined
  const loadSchema = async () =>
    (await loadScript(() => import('../explorer/schema.ts'))).loadSchema()
  return {
    session,
    transport,
    schema() {
      schema ??= loadSchema().catch((error: unknown) => {
        // The next page tries again.
        schema = undefined
        throw error
      })
      return schema
    },
    of: (service) => createClient(service, transport),
  }
}

/**
 * Options of a call with a password or passcode. A wrong one fails as a wrong token does, and counts
 * against the limit of the server, so that the call is sent once only.
 */
export const SENT_ONCE = { isSentOnce: true }

/** Adds the access token. A token that the server refuses is replaced once, but not of a stream. */
function authorizedBy(session: Session, { unary, stream }: Transport): Transport {
  const authorized = (call: Call, token: string | undefined) =>
    token === undefined
      ? call
      : { ...call, headers: { ...call.headers, authorization: `Bearer ${token}` } }
  return {
    async unary(call) {
      const token = await session.token()
      try {
        return await unary(authorized(call, token))
      } catch (error) {
        const isRefused = ConnectError.from(error).code === Code.Unauthenticated
        if (!isRefused || token === undefined || call.isSentOnce) throw error
        const renewed = await session.replace(token)
        if (renewed === undefined) throw error
        return unary(authorized(call, renewed))
      }
    },
    stream: async (call) => stream(authorized(call, await session.token())),
  }
}

export const ApiContext = createContext<Api | undefined>(undefined)

/** Returns the API. Only for components below the application. */
export function useApi(): Api {
  const api = useContext(ApiContext)
  if (!api) throw new Error('there is no API around this component')
  return api
}

/** The API has at most so many entries on a page. */
export const PAGE = 50

/** Reads all pages of a list. */
export async function allPages<Item>(
  read: (page: number) => Promise<{ items: readonly Item[]; total: bigint }>,
): Promise<Item[]> {
  const all: Item[] = []
  for (let page = 1; ; page++) {
    const { items, total } = await read(page)
    all.push(...items)
    if (items.length === 0 || all.length >= total) return all
  }
}
