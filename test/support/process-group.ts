import {
  GroupHost,
  type HostedProcess,
} from '../../src/platform/database/coordination/group-host.ts'
import {
  type GroupChannel,
  GroupMembership,
} from '../../src/platform/database/coordination/group-membership.ts'
import type { MessageOfHost } from '../../src/platform/database/coordination/group-messages.ts'

/** A worker process of a test, all in one process. */
export interface TestMember {
  readonly membership: GroupMembership
  readonly channel: GroupChannel
  readonly hosted: HostedProcess
  /** Whether the host has killed the process. */
  readonly isKilled: boolean
  /** Lets the process stop to answer. */
  stop(): void
}

/** A group of worker processes and the coordination of their primary process. */
export class TestGroup {
  readonly #members = new Map<TestMember, () => void>()
  readonly host: GroupHost
  #lastId = 0

  constructor(now?: () => number) {
    this.host = new GroupHost(now)
  }

  /** Starts a process. Messages arrive in their order, each in a later microtask. */
  join(): TestMember {
    const listeners: ((message: MessageOfHost) => void)[] = []
    const ends: (() => void)[] = []
    let state: 'running' | 'stopped' | 'killed' = 'running'
    let hasHost = true
    this.#lastId += 1
    const hosted: HostedProcess = {
      serverId: this.#lastId,
      send(message) {
        queueMicrotask(() => {
          if (state === 'running') for (const listen of listeners) listen(message)
        })
      },
      kill() {
        state = 'killed'
      },
    }
    const channel: GroupChannel = {
      groupId: 1,
      serverId: hosted.serverId,
      send: (message) => {
        if (hasHost) queueMicrotask(() => this.host.receive(hosted, message))
      },
      onMessage: (listener) => void listeners.push(listener),
      onEnd: (listener) => void ends.push(listener),
    }
    this.host.add(hosted)
    const member: TestMember = {
      membership: new GroupMembership(channel),
      channel,
      hosted,
      get isKilled() {
        return state === 'killed'
      },
      stop() {
        state = 'stopped'
      },
    }
    this.#members.set(member, () => {
      hasHost = false
      for (const end of ends) end()
    })
    return member
  }

  /** Ends a process. */
  kill(member: TestMember): void {
    member.hosted.kill()
    member.membership.end()
    this.host.remove(member.hosted)
  }

  /** Ends the primary process. */
  endHost(): void {
    this.host.close()
    for (const end of this.#members.values()) end()
  }

  /** Ends all. */
  end(): void {
    this.host.close()
    for (const { membership } of this.#members.keys()) membership.end()
  }
}
