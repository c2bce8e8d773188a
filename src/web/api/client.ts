import type { DescService } from '@bufbuild/protobuf'
import {
  type Client,
  Code,
  ConnectError,
  createClient,
  createContextKey,
  createContextValues,
  type Interceptor,
  type Transport,
} from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-web'
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { ApiSchema } from '../explorer/schema.ts'
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
  const options = {
    baseUrl: location.origin,
    useBinaryFormat: true,
    interceptors: [failingInWords],
  }
  const session = new Session(createConnectTransport(options), onSessionChange)
  const transport = createConnectTransport({
    ...options,
    interceptors: [authorizedBy(session), failingInWords],
  })
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

const MAY_REPEAT = createContextKey(true)

/**
 * Options of a call with a password or passcode. A wrong one fails as a wrong token does, and counts
 * against the limit of the server, so that the call is sent once only.
 */
export const SENT_ONCE = { contextValues: createContextValues().set(MAY_REPEAT, false) }

/** Adds the access token. A token that the server refuses is replaced once. */
function authorizedBy(session: Session): Interceptor {
  return (next) => async (request) => {
    const token = await session.token()
    if (token === undefined) return next(request)
    request.header.set('authorization', `Bearer ${token}`)
    try {
      return await next(request)
    } catch (error) {
      const isRefused = ConnectError.from(error).code === Code.Unauthenticated
      if (!isRefused || request.stream || !request.contextValues.get(MAY_REPEAT)) throw error
      const renewed = await session.replace(token)
      if (renewed === undefined) throw error
      request.header.set('authorization', `Bearer ${renewed}`)
      return next(request)
    }
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
