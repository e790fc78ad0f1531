// Gossip over 802.11b in ns-3, in a world that roamcast wrote (exchange.py): `gossip WORLD [audit] [udp]` prints a JSON
// object.
//
// Everything that roamcast's world says is made equal: where nodes are, who publishes what and when, how long frames are
// and how long they last, which strength decodes, disturbs and is sensed. What ns-3 draws itself is back-offs, assessment
// delays and the draws of gossip. Frames go straight to the device, which is the least that ns-3 can do; with `udp` they
// take the way of nearly all programs for ns-3, through UDP sockets and IPv4, and are as long.
// Built and measured by program.py and compare.py; works with ns-3 3.37.

#include "ns3/constant-position-mobility-model.h"
#include "ns3/constant-velocity-mobility-model.h"
#include "ns3/core-module.h"
#include "ns3/error-rate-model.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/propagation-module.h"
#include "ns3/threshold-preamble-detection-model.h"
#include "ns3/wifi-module.h"

#include <sys/resource.h>

#include <cmath>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

using namespace ns3;

const double kSensitivityDbm = -40.0;  // strength 1 of roamcast; far above noise, which roamcast does not have
const uint16_t kProtocol = 0x88B5;     // for experiments (IEEE 802)
const uint16_t kPort = 9;
const uint32_t kIpAndUdpBytes = 28;

struct Publication
{
    int64_t at_us;
    uint32_t node;
    uint32_t bytes;  // of its frame, without the encoded age
    std::vector<bool> interested;
};

struct Leg
{
    uint32_t node;
    double start_s;
    Vector place;
    Vector velocity;
};

struct World
{
    std::map<std::string, std::string> settings;
    std::vector<Leg> legs;
    std::vector<Publication> publications;

    double Number(const std::string& name) const
    {
        return std::stod(settings.at(name));
    }
};

World
Read(const char* path)
{
    World world;
    std::ifstream file(path);
    std::string word;
    while (file >> word)
    {
        if (word == "leg")
        {
            Leg leg;
            file >> leg.node >> leg.start_s >> leg.place.x >> leg.place.y >> leg.velocity.x >> leg.velocity.y;
            world.legs.push_back(leg);
        }
        else if (word == "publish")
        {
            Publication event;
            uint32_t count = 0;
            file >> event.at_us >> event.node >> event.bytes >> count;
            event.interested.resize(world.Number("nodes"));
            for (uint32_t node; count > 0 && file >> node; --count)
            {
                event.interested[node] = true;
            }
            world.publications.push_back(event);
        }
        else
        {
            file >> world.settings[word];
        }
    }
    return world;
}

double g_capture = 10.0;  // how many times as strong as everything else a frame must be

// A frame is received if it is `g_capture` times as strong as everything that disturbs it, and lost otherwise. No error
// model can say so, because ns-3 does not ask one about DSSS rates: so the function that would ask is defined here, and
// the linker prefers it. Headers never fail, only what follows them: after a header that failed while a second frame
// had begun, ns-3 3.37 takes the medium for idle and sends into both frames.
double
ns3::ErrorRateModel::GetChunkSuccessRate(WifiMode, const WifiTxVector&, double snr, uint64_t, uint8_t, WifiPpduField field,
                                         uint16_t) const
{
    return field != WIFI_PPDU_FIELD_DATA || snr >= g_capture ? 1.0 : 0.0;
}

/// What travels: which event, and its age, whose encoding makes frames longer (as in roamcast).
struct Cargo
{
    int64_t age_us;
    uint32_t event;
};

uint32_t
EncodedBytes(uint64_t n)
{
    return n < 0x80 ? 1 : n < 0x100 ? 2 : n < 0x10000 ? 3 : n < 0x100000000 ? 5 : 9;
}

class Gossip
{
  public:
    Gossip(const World& world, bool audit, bool udp);
    void Run();
    void Print(double whole_s) const;

  private:
    void MakeChannel();
    void MakeNodes();
    void OpenSockets(const NodeContainer& nodes, const NetDeviceContainer& devices);
    void Walk(const Leg& leg);
    void Publish(uint32_t event);
    void Send(uint32_t node, Cargo cargo);
    bool Receive(Ptr<NetDevice> device, Ptr<const Packet> packet, uint16_t, const Address&);
    void ReceiveFrom(Ptr<Socket> socket);
    void Take(uint32_t node, Ptr<const Packet> packet);
    void TxBegins(uint32_t node, Ptr<const Packet> packet, double);
    double LossAt(double distance_m) const;
    void CountHearers(uint32_t sender, double range_m);

    const World& m_world;
    const bool m_audit;
    const bool m_udp;
    const double m_p;
    const double m_jitter_us;
    const double m_range_m;
    const double m_range_max_m;
    Ptr<UniformRandomVariable> m_random = CreateObject<UniformRandomVariable>();
    Ptr<PropagationLossModel> m_loss;
    Ptr<YansWifiChannel> m_channel;
    std::vector<Ptr<WifiNetDevice>> m_devices;
    std::vector<Ptr<Socket>> m_sockets;  // only with UDP
    std::vector<Ptr<ConstantVelocityMobilityModel>> m_places;
    std::vector<std::vector<bool>> m_seen;  // of each node: the events it has
    uint64_t m_frames = 0;
    uint64_t m_bytes = 0;
    uint64_t m_receptions = 0;
    uint64_t m_deliveries = 0;
    uint64_t m_hearers = 0;  // nodes in range of a frame when it starts; only with audit
    double m_run_s = 0.0;
};

double
ProcessorSeconds()
{
    rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_utime.tv_sec + used.ru_stime.tv_sec + 1e-6 * (used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

Gossip::Gossip(const World& world, bool audit, bool udp)
    : m_world(world),
      m_audit(audit),
      m_udp(udp),
      m_p(world.Number("p")),
      m_jitter_us(world.Number("jitter_us")),
      m_range_m(world.Number("range_m")),
      m_range_max_m(world.Number("range_max_m"))
{
    RngSeedManager::SetRun(world.Number("seed"));
    m_seen.assign(world.Number("nodes"), std::vector<bool>(world.publications.size()));
    MakeChannel();
    MakeNodes();
    for (const Leg& leg : world.legs)
    {
        if (leg.start_s > 0.0)
        {
            Simulator::Schedule(Seconds(leg.start_s), &Gossip::Walk, this, leg);
        }
        else
        {
            Walk(leg);
        }
    }
    for (uint32_t event = 0; event < world.publications.size(); ++event)
    {
        Simulator::Schedule(MicroSeconds(world.publications[event].at_us), &Gossip::Publish, this, event);
    }
}

void
Gossip::MakeChannel()
{
    const std::string radio = m_world.settings.at("radio");
    if (radio == "disc")
    {
        m_loss = CreateObjectWithAttributes<RangePropagationLossModel>("MaxRange", DoubleValue(m_range_m));
    }
    else if (radio == "free-space")
    {
        m_loss = CreateObject<FriisPropagationLossModel>();
    }
    else if (radio == "two-ray")
    {
        // ground reflection begins at 4 pi h^2 / wavelength
        const double metre_high_hz = 299792458.0 * m_world.Number("crossover_m") / (4.0 * M_PI);
        m_loss = CreateObjectWithAttributes<TwoRayGroundPropagationLossModel>("Frequency",
                                                                              DoubleValue(metre_high_hz),
                                                                              "HeightAboveZ",
                                                                              DoubleValue(1.0));
    }
    else
    {
        NS_FATAL_ERROR("no radio " << radio);
    }
    m_channel = CreateObject<YansWifiChannel>();
    m_channel->SetPropagationLossModel(m_loss);
    m_channel->SetPropagationDelayModel(CreateObject<ConstantSpeedPropagationDelayModel>());
}

/// What a frame of 0 dBm has left at this distance, in dBm.
double
Gossip::LossAt(double distance_m) const
{
    static auto here = CreateObject<ConstantPositionMobilityModel>();
    static auto there = CreateObject<ConstantPositionMobilityModel>();
    there->SetPosition(Vector(distance_m, 0.0, 0.0));
    return m_loss->CalcRxPower(0.0, here, there);
}

void
Gossip::MakeNodes()
{
    const double rate_mbps = m_world.Number("rate_bps") / 1e6;
    const std::string mode = rate_mbps == 5.5 ? "DsssRate5_5Mbps" : "DsssRate" + std::to_string(int(rate_mbps)) + "Mbps";
    const bool disc = m_world.settings.at("radio") == "disc";
    const double range_dbm = disc ? 0.0 : LossAt(m_range_m);
    const double sensed_dbm = disc ? -1.0 : LossAt(m_range_m * m_world.Number("carrier_sense_ratio")) - range_dbm;
    const double capture_db = m_world.Number("capture_db");
    Config::SetDefault("ns3::WifiMacQueue::MaxSize", StringValue(m_world.settings.at("queue") + "p"));
    Config::SetDefault("ns3::WifiMacQueue::MaxDelay", TimeValue(Hours(1)));
    Config::SetDefault("ns3::ThresholdPreambleDetectionModel::Threshold", DoubleValue(capture_db));
    Config::SetDefault("ns3::ThresholdPreambleDetectionModel::MinimumRssi", DoubleValue(kSensitivityDbm));

    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211b);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode", StringValue(mode), "NonUnicastMode", StringValue(mode));
    YansWifiPhyHelper phy;
    phy.SetChannel(m_channel);
    phy.Set("TxPowerStart", DoubleValue(kSensitivityDbm - range_dbm));
    phy.Set("TxPowerEnd", DoubleValue(kSensitivityDbm - range_dbm));
    // per 20 MHz; DSSS has 22. Weaker frames are ignored altogether, so all energy that is left means a busy medium.
    phy.Set("RxSensitivity", DoubleValue(kSensitivityDbm + sensed_dbm - 10.0 * std::log10(22.0 / 20.0)));
    phy.Set("CcaEdThreshold", DoubleValue(kSensitivityDbm + sensed_dbm - 3.0));
    phy.SetPreambleDetectionModel("ns3::ThresholdPreambleDetectionModel");
    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac");

    NodeContainer nodes;
    nodes.Create(m_world.Number("nodes"));
    NetDeviceContainer devices = wifi.Install(phy, mac, nodes);
    g_capture = std::pow(10.0, capture_db / 10.0);
    for (uint32_t node = 0; node < nodes.GetN(); ++node)
    {
        m_places.push_back(CreateObject<ConstantVelocityMobilityModel>());
        nodes.Get(node)->AggregateObject(m_places.back());
        m_devices.push_back(DynamicCast<WifiNetDevice>(devices.Get(node)));
        if (!m_udp)
        {
            m_devices.back()->SetReceiveCallback(MakeCallback(&Gossip::Receive, this));
        }
        auto radio = m_devices.back()->GetPhy();
        radio->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Gossip::TxBegins, this).Bind(node));
    }
    if (m_udp)
    {
        OpenSockets(nodes, devices);
    }
}

void
Gossip::OpenSockets(const NodeContainer& nodes, const NetDeviceContainer& devices)
{
    InternetStackHelper internet;
    internet.Install(nodes);
    Ipv4AddressHelper addresses("10.1.0.0", "255.255.0.0");
    addresses.Assign(devices);
    for (uint32_t node = 0; node < nodes.GetN(); ++node)
    {
        auto socket = Socket::CreateSocket(nodes.Get(node), UdpSocketFactory::GetTypeId());
        socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), kPort));
        socket->SetAllowBroadcast(true);
        socket->Connect(InetSocketAddress(Ipv4Address::GetBroadcast(), kPort));
        socket->SetRecvCallback(MakeCallback(&Gossip::ReceiveFrom, this));
        m_sockets.push_back(socket);
    }
}

void
Gossip::Walk(const Leg& leg)
{
    m_places[leg.node]->SetPosition(leg.place);
    m_places[leg.node]->SetVelocity(leg.velocity);
}

void
Gossip::Publish(uint32_t event)
{
    const uint32_t node = m_world.publications[event].node;
    m_seen[node][event] = true;
    Send(node, {0, event});
}

void
Gossip::Send(uint32_t node, Cargo cargo)
{
    const uint32_t headers = m_udp ? kIpAndUdpBytes : 0;
    const uint32_t bytes = m_world.publications[cargo.event].bytes + EncodedBytes(cargo.age_us) - headers;
    std::vector<uint8_t> content(bytes);
    *reinterpret_cast<Cargo*>(content.data()) = cargo;
    auto packet = Create<Packet>(content.data(), bytes);
    if (m_udp)
    {
        m_sockets[node]->Send(packet);
    }
    else
    {
        m_devices[node]->Send(packet, Mac48Address::GetBroadcast(), kProtocol);
    }
}

bool
Gossip::Receive(Ptr<NetDevice> device, Ptr<const Packet> packet, uint16_t, const Address&)
{
    Take(device->GetNode()->GetId(), packet);
    return true;
}

void
Gossip::ReceiveFrom(Ptr<Socket> socket)
{
    while (Ptr<Packet> packet = socket->Recv())
    {
        Take(socket->GetNode()->GetId(), packet);
    }
}

void
Gossip::Take(uint32_t node, Ptr<const Packet> packet)
{
    ++m_receptions;
    Cargo cargo;
    packet->CopyData(reinterpret_cast<uint8_t*>(&cargo), sizeof cargo);
    if (m_seen[node][cargo.event])
    {
        return;
    }
    m_seen[node][cargo.event] = true;
    m_deliveries += m_world.publications[cargo.event].interested[node];
    if (m_p == 1.0 || m_random->GetValue() < m_p)
    {
        const int64_t delay_us = m_random->GetValue() * m_jitter_us;
        cargo.age_us += delay_us;
        Simulator::Schedule(MicroSeconds(delay_us), &Gossip::Send, this, node, cargo);
    }
}

/// A frame goes on the air. Where every frame draws a range, the sender's gain makes it reach as far.
void
Gossip::TxBegins(uint32_t node, Ptr<const Packet> packet, double)
{
    ++m_frames;
    m_bytes += packet->GetSize();
    double range_m = m_range_m;
    if (m_range_max_m > m_range_m)
    {
        range_m = m_random->GetValue(m_range_m, m_range_max_m);
        m_devices[node]->GetPhy()->SetTxGain(LossAt(m_range_m) - LossAt(range_m));
    }
    if (m_audit)
    {
        CountHearers(node, range_m);
    }
}

void
Gossip::CountHearers(uint32_t sender, double range_m)
{
    for (uint32_t node = 0; node < m_places.size(); ++node)
    {
        m_hearers += node != sender && m_places[node]->GetDistanceFrom(m_places[sender]) <= range_m;
    }
}

void
Gossip::Run()
{
    const double began_s = ProcessorSeconds();
    Simulator::Stop(Seconds(m_world.Number("seconds")));
    Simulator::Run();
    m_run_s = ProcessorSeconds() - began_s;
}

void
Gossip::Print(double whole_s) const
{
    std::cout << "{\"frames\": " << m_frames << ", \"bytes\": " << m_bytes << ", \"receptions\": " << m_receptions
              << ", \"deliveries\": " << m_deliveries << ", \"hearers\": " << m_hearers
              << ", \"events\": " << Simulator::GetEventCount() << ", \"run_s\": " << m_run_s
              << ", \"whole_s\": " << whole_s << "}" << std::endl;
}

int
main(int argc, char* argv[])
{
    const World world = Read(argv[1]);
    const std::set<std::string> options(argv + 2, argv + argc);
    const double began_s = ProcessorSeconds();  // reading the file does not count
    Gossip gossip(world, options.count("audit"), options.count("udp"));
    gossip.Run();
    gossip.Print(ProcessorSeconds() - began_s);
    Simulator::Destroy();
    return 0;
}
