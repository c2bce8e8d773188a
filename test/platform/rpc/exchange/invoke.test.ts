import { EventEmitter } from 'node:events'
import { create, type Message } from '@bufbuild/protobuf'
import {
  createContextKey,
  createContextValues,
  type HandlerContext,
  type Interceptor,
} from '@connectrpc/connect'
import { describe, expect, it } from 'vitest'
import { Cancellation, OpenCalls } from '../../../../src/platform/rpc/exchange/cancellation.ts'
import {
  createMethodImplSpec,
  type MethodImplSpec,
} from '../../../../src/platform/rpc/exchange/connect-internals.ts'
import { CallContext } from '../../../../src/platform/rpc/exchange/context.ts'
import { LazyHeaders } from '../../../../src/platform/rpc/exchange/headers.ts'
import { invokeUnary } from '../../../../src/platform/rpc/exchange/invoke.ts'
import { methodOf } from '../rest/schema.ts'
import { type AnyRequest, type Thing, Things } from '../rest/things.ts'

const getThing = methodOf(Things, 'GetThing')
const key = createContextKey('unset')

type Impl = (request: AnyRequest, context: HandlerContext) => object | Promise<object>

async function call(impl: Impl, interceptors: Interceptor[] = []) {
  // The compiler cannot know the types of a schema compiled at run time.
  const spec = createMethodImplSpec(getThing, impl as never) as Extract<
    MethodImplSpec,
    { kind: 'unary' }
  >
  const context = new CallContext({
    method: getThing,
    protocolName: 'rest',
    requestMethod: 'GET',
    url: 'http://forge.test/things/a',
    requestHeader: new LazyHeaders({ 'x-in': '1' }),
    values: createContextValues(),
    cancellation: new Cancellation(undefined, new EventEmitter(), new OpenCalls(undefined)),
  })
  const request: Message = create(getThing.input, { name: 'a' } as never)
  const response = (await invokeUnary(spec, context, request, interceptors)) as Thing
  return { response, context }
}

const pass: Interceptor = (next) => (request) => next(request)

describe.each([
  ['without interceptors', []],
  ['with an interceptor', [pass]],
])('invokeUnary %s', (_, interceptors) => {
  it('creates a message from the result of the implementation', async () => {
    const { response } = await call(({ name }) => ({ name }), interceptors)
    expect(response).toMatchObject({
      $typeName: 'things.v1.Thing',
      name: 'a',
      size: 0n,
      tagNames: [],
    })
  })

  it('rejects with the error of the implementation, thrown or rejected', async () => {
    const error = new Error('mine')
    const thrown = call(() => {
      throw error
    }, interceptors)
    await expect(thrown).rejects.toBe(error)
    await expect(call(() => Promise.reject(error), interceptors)).rejects.toBe(error)
  })

  it('passes the context to the implementation', async () => {
    let seen: HandlerContext | undefined
    const { context } = await call((_request, handlerContext) => {
      seen = handlerContext
      return {}
    }, interceptors)
    expect(seen).toBe(context)
  })
})

describe('interceptors', () => {
  it('run in order and return in reverse order, each built once per call', async () => {
    const order: string[] = []
    const named =
      (name: string): Interceptor =>
      (next) => {
        order.push(`build ${name}`)
        return async (request) => {
          order.push(`in ${name}`)
          const response = await next(request)
          order.push(`out ${name}`)
          return response
        }
      }
    await call(() => ({}), [named('a'), named('b')])
    expect(order).toEqual(['build b', 'build a', 'in a', 'in b', 'out b', 'out a'])
  })

  it('receive the same request as over Connect', async () => {
    let seen: object | undefined
    await call(
      () => ({}),
      [
        (next) => (request) => {
          seen = { ...request }
          return next(request)
        },
      ],
    )
    expect(seen).toMatchObject({
      stream: false,
      service: Things,
      method: getThing,
      requestMethod: 'GET',
      url: 'http://forge.test/things/a',
      message: { name: 'a' },
      signal: { aborted: false },
    })
    expect(seen).toHaveProperty('header')
    expect(seen).toHaveProperty('contextValues')
  })

  it('may replace the request', async () => {
    const header = new Headers({ 'x-in': '2' })
    const contextValues = createContextValues().set(key, 'set')
    const signal = AbortSignal.abort()
    let seen: HandlerContext | undefined
    const { response, context } = await call(
      (request, handlerContext) => {
        seen = handlerContext
        handlerContext.responseHeader.set('x-out', '1')
        return { name: request.name }
      },
      [
        (next) => (request) =>
          next({ ...request, header, contextValues, signal } as typeof request),
      ],
    )
    expect(seen?.requestHeader.get('x-in')).toBe('2')
    expect(seen?.values.get(key)).toBe('set')
    expect(seen?.signal).toBe(signal)
    expect(seen?.protocolName).toBe('rest')
    expect(response.name).toBe('a')
    // The transcoder looks for its own context values where the implementation put them.
    expect(context.values).toBe(contextValues)
    expect(context.responseHeader.get('x-out')).toBe('1')
  })

  it('may replace the response and its headers', async () => {
    const { response, context } = await call(
      (_request, { responseHeader, responseTrailer }) => {
        responseHeader.set('x-dropped', '1')
        responseTrailer.set('x-dropped', '1')
        return {}
      },
      [
        (next) => async (request) => {
          const answer = await next(request)
          const header = new Headers([
            ['x-out', '2'],
            ['set-cookie', 'a=1'],
            ['set-cookie', 'b=2'],
          ])
          const message = create(getThing.output, { name: 'b' } as never)
          return {
            ...answer,
            header,
            trailer: new Headers({ 'x-end': '3' }),
            message,
          } as typeof answer
        },
      ],
    )
    expect(response.name).toBe('b')
    expect([...context.responseHeader]).toEqual([
      ['set-cookie', 'a=1'],
      ['set-cookie', 'b=2'],
      ['x-out', '2'],
    ])
    expect([...context.responseTrailer]).toEqual([['x-end', '3']])
  })

  it('may answer themselves', async () => {
    const { response } = await call(
      () => Promise.reject(new Error('not reached')),
      [
        () => async (request) => ({
          stream: false as const,
          service: request.service,
          method: getThing as never,
          header: new Headers(),
          trailer: new Headers(),
          message: create(getThing.output, { name: 'short' } as never),
        }),
      ],
    )
    expect(response.name).toBe('short')
  })
})
