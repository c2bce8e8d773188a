import { create, type Registry, toBinary, toJson } from '@bufbuild/protobuf'
import { base64Encode } from '@bufbuild/protobuf/wire'
import { Code, type ConnectError } from '@connectrpc/connect'

type Detail = ConnectError['details'][number]

/** An error in JSON (https://connectrpc.com/docs/protocol#error-end-stream). */
export interface ErrorJson {
  readonly code: string
  readonly message?: string
  readonly details?: readonly object[]
}

/**
 * Returns an error in the JSON of the Connect protocol.
 *
 * @param registry types of messages in google.protobuf.Any, for the readable form of details.
 */
export function errorJson(
  { code, rawMessage, details }: ConnectError,
  registry: Registry,
): ErrorJson {
  return {
    code: nameOf(code),
    ...(rawMessage !== '' && { message: rawMessage }),
    ...(details.length > 0 && { details: details.map((detail) => detailJson(detail, registry)) }),
  }
}

function detailJson(detail: Detail, registry: Registry): object {
  if (!('desc' in detail)) return { ...detail, value: base64Encode(detail.value, 'std_raw') }
  const { desc } = detail
  const message = create(desc, detail.value)
  const value = base64Encode(toBinary(desc, message), 'std_raw')
  try {
    return { type: desc.typeName, debug: toJson(desc, message, { registry }), value }
  } catch {
    // The detail contains an Any of an unknown type. The readable form is optional.
    return { type: desc.typeName, value }
  }
}

/** Returns the name of a code in snake_case. */
function nameOf(code: Code): string {
  return Code[code].replace(/\B[A-Z]/g, '_$&').toLowerCase()
}
