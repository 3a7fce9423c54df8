// TLS and tokens: how client and server prove to each other who they are.
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { credentials as grpcCredentials, type ChannelCredentials } from "@grpc/grpc-js";
import { isThisHost } from "./address.js";
import { InvalidArgumentError } from "./errors.js";
import type { ConnectOptions } from "./options.js";

const CERTIFICATE = "-----BEGIN CERTIFICATE-----";
const KEY = "PRIVATE KEY-----";

function contents(option: string, path: string, mark = ""): Buffer {
  let data: Buffer;
  try {
    data = readFileSync(path);
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new InvalidArgumentError(`${option}: cannot read ${path}: ${why}`, { field: option, cause: error });
  }
  if (!data.includes(mark)) {
    const text = `${option}: ${path} has no ${JSON.stringify(mark)}; it must be PEM`;
    throw new InvalidArgumentError(text, { field: option });
  }
  return data;
}

function bearer(option: string, text: string): string {
  const token = text.trim();
  if (!/^[!-~]+$/.test(token)) {
    throw new InvalidArgumentError(`${option}: a token is one word of printable ASCII characters, and not empty`, {
      field: option,
    });
  }
  return `Bearer ${token}`;
}

/** TLS and token of one client; it reads files when it is made. */
export class Credentials {
  readonly channel: ChannelCredentials;
  readonly tls: boolean;
  /** The file of the authorities; undefined: those of Node.js. */
  readonly ca: string | undefined;
  readonly serverName: string | undefined;
  /** The header's value; empty: there is no token. */
  authorization = "";
  readonly #tokenFile: string | undefined;

  constructor(addresses: readonly string[], options: ConnectOptions, environment: NodeJS.ProcessEnv) {
    const given = typeof options.tls === "object" ? options.tls : {};
    this.ca = given.ca ?? (environment["CORANK_SERVER_CA"] || undefined);
    this.serverName = given.serverName;
    const certificate = given.certificate ?? (environment["CORANK_CLIENT_CERTIFICATE"] || undefined);
    const key = given.key ?? (environment["CORANK_CLIENT_KEY"] || undefined);
    this.tls = Boolean(options.tls) || [this.ca, certificate, key].some((each) => each !== undefined);
    if ((certificate === undefined) !== (key === undefined)) {
      throw new InvalidArgumentError("tls.certificate, tls.key: give both, or none", { field: "tls_key" });
    }
    this.channel = this.tls ? this.#secure(certificate, key) : grpcCredentials.createInsecure();

    let { token } = options;
    if (token !== undefined && options.tokenFile !== undefined) {
      throw new InvalidArgumentError("token, tokenFile: give one, not both", { field: "token" });
    }
    this.#tokenFile = options.tokenFile;
    if (token === undefined && this.#tokenFile === undefined) {
      token = environment["CORANK_TOKEN"] || undefined;
    }
    if (token === undefined && this.#tokenFile === undefined) {
      return;
    }
    if (!this.tls && !isThisHost(addresses)) {
      throw new InvalidArgumentError(
        `token: anyone on the way to ${addresses.join(",")} could read it, for there is no TLS; switch TLS on ` +
          "(tls: {ca}, tls: true), or use an address of this host",
        { field: "token" },
      );
    }
    this.authorization =
      this.#tokenFile === undefined
        ? bearer("token", token ?? "")
        : bearer("token_file", contents("token_file", this.#tokenFile).toString("latin1"));
  }

  #secure(certificate: string | undefined, key: string | undefined): ChannelCredentials {
    const read = (option: string, path: string | undefined, mark: string): Buffer | null =>
      path === undefined ? null : contents(option, path, mark);
    try {
      return grpcCredentials.createSsl(
        read("tls_ca", this.ca, CERTIFICATE),
        read("tls_key", key, KEY),
        read("tls_certificate", certificate, CERTIFICATE),
      );
    } catch (error) {
      if (error instanceof InvalidArgumentError) {
        throw error;
      }
      const text = "there is no valid certificate in tls.ca, or tls.key is not the key of tls.certificate";
      throw new InvalidArgumentError(`the TLS files cannot be used: ${text}`, { field: "tls_key", cause: error });
    }
  }

  /** Reads the token's file again; whether it holds another token than the `refused` one. */
  async reload(refused: string): Promise<boolean> {
    if (this.#tokenFile === undefined) {
      return false;
    }
    try {
      this.authorization = bearer("token_file", await readFile(this.#tokenFile, "latin1"));
    } catch {
      return false; // the server's refusal says more
    }
    return this.authorization !== refused;
  }
}
