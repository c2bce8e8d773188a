import type { DescMethod } from '@bufbuild/protobuf'
import { createContextValues, createHandlerContext, type HandlerContext } from '@connectrpc/connect'
import type { Caller } from '../../src/forge/core/access.ts'
import type { User } from '../../src/forge/core/schema.ts'
import { callerKey, ownerKey, secureKey } from '../../src/forge/core/wire/call.ts'
import { LOCAL_PEER } from './app.ts'

/** The context that a handler finds once a call was authenticated and let through. */
export function callContext(
  method: DescMethod,
  call: { caller?: Caller; owner?: User; secure?: boolean; headers?: Record<string, string> } = {},
): HandlerContext {
  const contextValues = createContextValues()
    .set(callerKey, call.caller ?? { kind: 'anonymous', peer: LOCAL_PEER })
    .set(ownerKey, call.owner)
    .set(secureKey, call.secure ?? false)
  return createHandlerContext({
    method,
    service: method.parent,
    requestMethod: 'POST',
    protocolName: 'connect',
    url: `http://127.0.0.1/${method.parent.typeName}/${method.name}`,
    contextValues,
    requestHeader: call.headers ?? {},
  })
}
