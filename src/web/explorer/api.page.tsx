import type { DescMethod, DescService } from '@bufbuild/protobuf'
import type { VNode } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { useApi } from '../api/client.ts'
import { counted } from '../components/counts.ts'
import { Field } from '../components/field.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { Markup } from '../components/markup.tsx'
import { NotFound } from '../components/not-found.tsx'
import { useTitle } from '../components/page-title.ts'
import type { PageProps } from '../routes.ts'
import { bindingsOf, firstParagraph, readMethodComment } from './method-facts.ts'
import { MethodView, NO_FILES } from './method-view.tsx'
import { Prose } from './prose.tsx'
import { type ApiSchema, fullNameOf, methodHref, serviceHref } from './schema.ts'

/** The API: all services, one service, or one method. */
export default function ApiPage({ rest, query }: PageProps): VNode {
  const api = useApi()
  const schema = useLoad(() => api.schema(), [])
  return <Show of={schema}>{(loaded) => <Part schema={loaded} rest={rest} query={query} />}</Show>
}

function Part({
  schema,
  rest,
  query,
}: Pick<PageProps, 'rest' | 'query'> & { schema: ApiSchema }): VNode {
  const [serviceName, methodName] = rest
  if (serviceName === undefined) return <Services schema={schema} query={query} />
  const service = schema.services.find(({ typeName }) => typeName === serviceName)
  if (methodName === undefined)
    return service ? <ServiceView schema={schema} service={service} /> : <NotFound />
  const method = service?.methods.find(({ name }) => name === methodName)
  return method && rest.length === 2 ? <MethodView schema={schema} method={method} /> : <NotFound />
}

/** All services, or the methods that somebody looks for. */
function Services({ schema, query }: { schema: ApiSchema; query: URLSearchParams }): VNode {
  useTitle('API')
  const [sought, setSought] = useState(query.get('q') ?? '')
  const seek = (text: string) => {
    setSought(text)
    // The way back leads to the same search.
    history.replaceState(
      history.state,
      '',
      text === '' ? '/-/api' : `/-/api?q=${encodeURIComponent(text)}`,
    )
  }
  const words = sought.toLowerCase().split(/\s+/).filter(Boolean)
  const methods = useMemo(
    () =>
      schema.services.flatMap((service) =>
        service.methods.map((method) => ({ method, text: searchedText(schema, method) })),
      ),
    [schema],
  )
  const found = methods
    .filter(({ text }) => words.every((word) => text.includes(word)))
    .map(({ method }) => method)
  return (
    <>
      <h1>API</h1>
      <p>
        Every method is available over Connect, gRPC, gRPC-Web and, with its paths, over REST. Code
        generators take <a href="/schema/branchline-proto.tar.gz">the proto files</a>,{' '}
        <a href="/schema/branchline.binpb">the descriptors</a> or{' '}
        <a href="/openapi.json">the OpenAPI document</a>.
      </p>
      <search>
        <Field
          label="Search methods"
          hint="Words of a name, a path, a comment or a reason"
          type="search"
          value={sought}
          onInput={(event) => seek(event.currentTarget.value)}
        />
      </search>
      <p role="status">{counted(found.length, 'method')}</p>
      {words.length > 0 ? (
        <MethodList schema={schema} methods={found} />
      ) : (
        <ServiceList schema={schema} />
      )}
    </>
  )
}

function ServiceList({ schema }: { schema: ApiSchema }): VNode {
  return (
    <ul class="list">
      {schema.services.map((service) => (
        <li key={service.typeName}>
          <a href={serviceHref(service)}>{service.name}</a>
          <p>
            <Prose text={firstParagraph(schema.comment(service.typeName))} />
          </p>
        </li>
      ))}
    </ul>
  )
}

/** Text that a search looks at. */
function searchedText(schema: ApiSchema, method: DescMethod): string {
  const name = fullNameOf(method)
  const paths = bindingsOf(method).map(({ verb, template }) => `${verb} ${template}`)
  return [name, ...paths, schema.comment(name)].join(' ').toLowerCase()
}

function ServiceView({ schema, service }: { schema: ApiSchema; service: DescService }): VNode {
  useTitle(`${service.name}, API`)
  return (
    <>
      <nav aria-label="Path">
        <a href="/-/api">API</a>
      </nav>
      <h1>{service.name}</h1>
      <p class="facts">
        <code>{service.typeName}</code>
      </p>
      <Markup text={schema.comment(service.typeName)} base={NO_FILES} />
      <MethodList schema={schema} methods={service.methods} />
    </>
  )
}

function MethodList(props: { schema: ApiSchema; methods: readonly DescMethod[] }): VNode {
  const { schema, methods } = props
  if (methods.length === 0) return <p>No methods.</p>
  return (
    <ul class="list">
      {methods.map((method) => {
        const [binding] = bindingsOf(method)
        return (
          <li key={fullNameOf(method)}>
            <a href={methodHref(method)}>
              {method.parent.name}.{method.name}
            </a>
            <p>
              <Prose text={readMethodComment(schema.comment(fullNameOf(method))).summary} />
            </p>
            {binding && (
              <p class="facts">
                <code>
                  {binding.verb} {binding.template}
                </code>
              </p>
            )}
          </li>
        )
      })}
    </ul>
  )
}
