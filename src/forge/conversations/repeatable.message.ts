import type { DescMessage, MessageShape } from '@bufbuild/protobuf'
import { toJsonString } from '@bufbuild/protobuf'
import type { RepeatableRequest } from './issue-requests.ts'

/** Returns a request by which a repeated call is recognised. */
export function repeatableOf<Desc extends DescMessage>(
  schema: Desc,
  request: MessageShape<Desc> & { readonly requestId: string },
): RepeatableRequest {
  const content = `${schema.typeName} ${toJsonString(schema, request)}`
  return { requestId: request.requestId, content }
}
