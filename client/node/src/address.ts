// Reads addresses without looking a name up.
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { InvalidArgumentError, UnavailableError } from "./errors.js";

export const DEFAULT_ADDRESS = "127.0.0.1:50051";
const SCHEMES = /^(unix|unix-abstract|dns|ipv4|ipv6|xds):/;
const FOREIGN = /^(https?|grpcs?|tcp):\/\//;

/** The host of "host:port" or "[host]:port". */
function hostOf(address: string): string {
  if (address.startsWith("[")) {
    return address.slice(1, address.indexOf("]"));
  }
  return address.split(":").length === 2 ? (address.split(":")[0] as string) : address;
}

function refuse(text: string): never {
  throw new InvalidArgumentError(`address: ${text}`, { field: "address" });
}

function checkOne(address: string): string {
  if (/\s/.test(address)) {
    refuse(`${JSON.stringify(address)} holds a space; give host:port, as in ${DEFAULT_ADDRESS}`);
  }
  if (FOREIGN.test(address)) {
    const host = address.replace(FOREIGN, "").split("/")[0] as string;
    const example = /:\d+$/.test(host) ? host : `${host}:50051`;
    refuse(`${JSON.stringify(address)} is a URL; give host:port, such as ${example}`);
  }
  if (address.includes("/") || SCHEMES.test(address)) {
    return address;
  }
  if (address.split(":").length > 2 && !address.startsWith("[")) {
    refuse(`${JSON.stringify(address)} has no port; write [${address}]:50051`);
  }
  if (!/[^:]:[^:]+$/.test(address)) {
    refuse(`${JSON.stringify(address)} has no port; write ${address.replace(/:$/, "")}:50051`);
  }
  return address;
}

/** Addresses that were given, as a list or with commas between them, if they are some. */
export function checkedAddresses(given: unknown): string[] {
  const list = typeof given === "string" ? (SCHEMES.test(given) ? [given] : given.split(",")) : given;
  if (!Array.isArray(list) || list.length === 0 || list.some((each) => typeof each !== "string")) {
    throw new TypeError(`address: must be a string such as "${DEFAULT_ADDRESS}", or an Array of such`);
  }
  const found = (list as string[]).map((each) => checkOne(each.trim()));
  if (found.length > 1 && found.some((each) => each.includes("/") || SCHEMES.test(each))) {
    refuse("each of several addresses must be host:port");
  }
  return found;
}

function isLoopback(address: string): boolean {
  const host = hostOf(address).toLowerCase();
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

/** Whether all addresses are of this host: a Unix socket, localhost, 127.0.0.0/8, ::1. */
export function isThisHost(addresses: readonly string[]): boolean {
  return addresses.every((address) => {
    if (/^unix(-abstract)?:/.test(address)) {
      return true;
    }
    // "dns://AUTHORITY/..." asks another host, and is none of these.
    return address.replace(/^(dns:\/\/\/|dns:(?!\/)|ipv4:|ipv6:)/, "").split(",").every(isLoopback);
  });
}

/** Whether calls take turns among what the addresses stand for. */
export function takesTurns(addresses: readonly string[]): boolean {
  return addresses.length > 1 || /^(dns|ipv4|ipv6):/.test(addresses[0] as string);
}

/** The host of the first address, which certificates of several servers must hold. */
export function firstHost(addresses: readonly string[]): string {
  return hostOf(addresses[0] as string);
}

/** One gRPC target for all addresses. Looks up the names of a list, because gRPC's own targets list numbers only. */
export async function targetOf(addresses: readonly string[]): Promise<string> {
  if (addresses.length === 1) {
    return addresses[0] as string;
  }
  const found: { family: number; text: string }[] = [];
  for (const address of addresses) {
    const [host, port] = [hostOf(address), address.slice(address.lastIndexOf(":") + 1)];
    try {
      const { address: ip, family } = await lookup(host, host === "localhost" ? { family: 4 } : {});
      found.push({ family, text: family === 6 ? `[${ip}]:${port}` : `${ip}:${port}` });
    } catch (error) {
      // Names that cannot be looked up are left out, as servers that are down are.
      if (address === addresses.at(-1) && found.length === 0) {
        const text = `address: no host of ${addresses.join(",")} has an address`;
        const failed = new UnavailableError(text, { cause: error });
        failed.failure = "not-sent";
        throw failed;
      }
    }
  }
  const family = found[0]?.family;
  if (found.some((each) => each.family !== family)) {
    refuse(`${addresses.join(",")} mixes IPv4 and IPv6; give addresses of one kind`);
  }
  return `ipv${family}:${found.map((each) => each.text).join(",")}`;
}
