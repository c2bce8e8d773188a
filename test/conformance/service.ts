import { create, createRegistry, type DescMessage, type Message } from '@bufbuild/protobuf'
import { type Any, anyPack, anyUnpack } from '@bufbuild/protobuf/wkt'
import { Code, ConnectError, type HandlerContext, type ServiceImpl } from '@connectrpc/connect'
import {
  type BidiStreamRequest,
  BidiStreamRequestSchema,
  type ClientStreamRequest,
  ClientStreamRequestSchema,
  ConformancePayload_ConnectGetInfoSchema,
  type ConformancePayload_RequestInfo,
  ConformancePayload_RequestInfoSchema,
  type ConformanceService,
  type Error as ErrorDefinition,
  file_connectrpc_conformance_v1_service,
  type Header,
  HeaderSchema,
  type IdempotentUnaryRequest,
  IdempotentUnaryRequestSchema,
  type ServerStreamRequest,
  ServerStreamRequestSchema,
  type StreamResponseDefinition,
  type UnaryRequest,
  UnaryRequestSchema,
  type UnaryResponseDefinition,
} from './gen/connectrpc/conformance/v1/service_pb.ts'

/** The types of error details that a test case may ask for. */
const registry = createRegistry(file_connectrpc_conformance_v1_service)

/**
 * The service of the conformance suite. Each request says what the response should be. The
 * comments of connectrpc/conformance/v1/service.proto specify the rest.
 */
export const conformanceService: ServiceImpl<typeof ConformanceService> = {
  unary: (request, context) => answerUnary(UnaryRequestSchema, request, context),
  idempotentUnary: (request, context) =>
    answerUnary(IdempotentUnaryRequestSchema, request, context),
  unimplemented() {
    throw new ConnectError('this method is not implemented', Code.Unimplemented)
  },
  clientStream,
  serverStream,
  bidiStream,
}

async function answerUnary(
  schema: DescMessage,
  request: UnaryRequest | IdempotentUnaryRequest,
  context: HandlerContext,
) {
  const requestInfo = infoOf(context, [anyPack(schema, request)])
  return single(request.responseDefinition, requestInfo, context)
}

async function clientStream(requests: AsyncIterable<ClientStreamRequest>, context: HandlerContext) {
  const received: Any[] = []
  let definition: UnaryResponseDefinition | undefined
  for await (const request of requests) {
    if (received.length === 0) definition = request.responseDefinition
    received.push(anyPack(ClientStreamRequestSchema, request))
  }
  return single(definition, infoOf(context, received), context)
}

/** Creates the only message of a response. */
async function single(
  definition: UnaryResponseDefinition | undefined,
  requestInfo: ConformancePayload_RequestInfo,
  context: HandlerContext,
) {
  setMetadata(definition, context)
  await pause(definition?.responseDelayMs ?? 0)
  const { response } = definition ?? {}
  if (response?.case === 'error') throw errorOf(response.value, requestInfo)
  const data = response?.case === 'responseData' ? response.value : new Uint8Array()
  return { payload: { data, requestInfo } }
}

async function* serverStream(request: ServerStreamRequest, context: HandlerContext) {
  const { responseDefinition: definition } = request
  const requestInfo = infoOf(context, [anyPack(ServerStreamRequestSchema, request)])
  setMetadata(definition, context)
  yield* restOf(definition, 0, requestInfo)
}

async function* bidiStream(requests: AsyncIterable<BidiStreamRequest>, context: HandlerContext) {
  let definition: StreamResponseDefinition | undefined
  let isFirst = true
  let isFullDuplex = false
  let sent = 0
  let received: Any[] = []
  for await (const request of requests) {
    received.push(anyPack(BidiStreamRequestSchema, request))
    if (isFirst) {
      isFirst = false
      definition = request.responseDefinition
      isFullDuplex = request.fullDuplex
      setMetadata(definition, context)
    }
    if (!isFullDuplex) continue
    const data = definition?.responseData[sent]
    if (data === undefined) break
    await pause(definition?.responseDelayMs ?? 0)
    const requestInfo =
      sent === 0
        ? infoOf(context, received)
        : create(ConformancePayload_RequestInfoSchema, { requests: received })
    yield { payload: { data, requestInfo } }
    sent++
    received = []
  }
  yield* restOf(definition, sent, infoOf(context, received))
}

/**
 * Yields the responses from the index `sent` on, then throws the error of the definition. The first
 * response of a call, or the error of a call without responses, has the information.
 */
async function* restOf(
  definition: StreamResponseDefinition | undefined,
  sent: number,
  requestInfo: ConformancePayload_RequestInfo,
) {
  if (definition === undefined) return
  let isFirst = sent === 0
  for (const data of definition.responseData.slice(sent)) {
    await pause(definition.responseDelayMs)
    yield { payload: isFirst ? { data, requestInfo } : { data } }
    isFirst = false
  }
  if (definition.error) throw errorOf(definition.error, isFirst ? requestInfo : undefined)
}

function infoOf(context: HandlerContext, requests: Any[]): ConformancePayload_RequestInfo {
  const timeoutMs = context.timeoutMs()
  return create(ConformancePayload_RequestInfoSchema, {
    requestHeaders: Array.from(context.requestHeader, ([name, value]) =>
      create(HeaderSchema, { name, value: [value] }),
    ),
    requests,
    ...(timeoutMs !== undefined && { timeoutMs: BigInt(Math.trunc(timeoutMs)) }),
    ...(context.requestMethod === 'GET' && {
      connectGetInfo: create(ConformancePayload_ConnectGetInfoSchema),
    }),
  })
}

function setMetadata(
  definition: UnaryResponseDefinition | StreamResponseDefinition | undefined,
  { responseHeader, responseTrailer }: HandlerContext,
): void {
  append(definition?.responseHeaders ?? [], responseHeader)
  append(definition?.responseTrailers ?? [], responseTrailer)
}

function append(headers: readonly Header[], target: Headers): void {
  for (const { name, value } of headers) for (const text of value) target.append(name, text)
}

function errorOf(
  { code, message, details }: ErrorDefinition,
  requestInfo: ConformancePayload_RequestInfo | undefined,
): ConnectError {
  const messages = details.map((detail) => anyUnpack(detail, registry))
  const known = [...messages, requestInfo].filter((detail) => detail !== undefined)
  // The numbers of the two enums are the same.
  return new ConnectError(message ?? '', code as number, undefined, known.map(outgoing))
}

function outgoing(value: Message) {
  const desc = registry.getMessage(value.$typeName)
  if (desc === undefined) throw new Error(`no schema of ${value.$typeName}`)
  return { desc, value }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => (ms > 0 ? setTimeout(resolve, ms) : resolve()))
}
